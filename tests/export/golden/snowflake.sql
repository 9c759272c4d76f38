CREATE VIEW "v" AS
SELECT *,
  CASE
    WHEN "petal length" > '-0.3333333333333333'::FLOAT AND "petal length" <= '0.30000000000000004'::FLOAT THEN 'it''s'
    WHEN ("petal length" <= '-0.3333333333333333'::FLOAT OR "petal length" > '0.30000000000000004'::FLOAT) AND "petal length" <> 'NaN'::FLOAT THEN
      CASE
        WHEN "höhe" <= '1e-07'::FLOAT THEN 'back\\slash'
        WHEN "höhe" > '1e-07'::FLOAT AND "höhe" <> 'NaN'::FLOAT THEN
          CASE
            WHEN "petal length" > '1.7000000000000002'::FLOAT AND "petal length" <= '2.5'::FLOAT THEN 'new
line'
            WHEN ("petal length" <= '1.7000000000000002'::FLOAT OR "petal length" > '2.5'::FLOAT) AND "petal length" <> 'NaN'::FLOAT THEN 'ü'
          END
      END
  END AS "cluster"
FROM "shop"."sales";
