CREATE VIEW "v" AS
SELECT *,
  CASE
    WHEN "petal length" > '-0.3333333333333333'::DOUBLE PRECISION AND "petal length" <= '0.30000000000000004'::DOUBLE PRECISION THEN 'it''s'
    WHEN ("petal length" <= '-0.3333333333333333'::DOUBLE PRECISION OR "petal length" > '0.30000000000000004'::DOUBLE PRECISION) AND "petal length" <> 'NaN'::DOUBLE PRECISION THEN
      CASE
        WHEN "höhe" <= '1e-07'::DOUBLE PRECISION THEN E'back\\slash'
        WHEN "höhe" > '1e-07'::DOUBLE PRECISION AND "höhe" <> 'NaN'::DOUBLE PRECISION THEN
          CASE
            WHEN "petal length" > '1.7000000000000002'::DOUBLE PRECISION AND "petal length" <= '2.5'::DOUBLE PRECISION THEN 'new
line'
            WHEN ("petal length" <= '1.7000000000000002'::DOUBLE PRECISION OR "petal length" > '2.5'::DOUBLE PRECISION) AND "petal length" <> 'NaN'::DOUBLE PRECISION THEN 'ü'
          END
      END
  END AS "cluster"
FROM "shop"."sales";
