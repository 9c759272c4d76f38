CREATE VIEW "v" AS
SELECT *,
  CASE
    WHEN "petal length" > '-0.3333333333333333'::DOUBLE AND "petal length" <= '0.30000000000000004'::DOUBLE THEN 'it''s'
    WHEN ("petal length" <= '-0.3333333333333333'::DOUBLE OR "petal length" > '0.30000000000000004'::DOUBLE) AND "petal length" <> 'NaN'::DOUBLE THEN
      CASE
        WHEN "höhe" <= '1e-07'::DOUBLE THEN 'back\slash'
        WHEN "höhe" > '1e-07'::DOUBLE AND "höhe" <> 'NaN'::DOUBLE THEN
          CASE
            WHEN "petal length" > '1.7000000000000002'::DOUBLE AND "petal length" <= '2.5'::DOUBLE THEN 'new
line'
            WHEN ("petal length" <= '1.7000000000000002'::DOUBLE OR "petal length" > '2.5'::DOUBLE) AND "petal length" <> 'NaN'::DOUBLE THEN 'ü'
          END
      END
  END AS "cluster"
FROM "shop"."sales";
