CREATE VIEW "v" AS
SELECT *,
  CASE
    WHEN "petal length" > '-0.3333333333333333'::FLOAT AND "petal length" <= '0.30000000000000004'::FLOAT THEN 'it''s'
    WHEN "höhe" <= '1e-07'::FLOAT THEN 'back\\slash'
    WHEN "petal length" > '1.7000000000000002'::FLOAT AND "petal length" <= 2.5 THEN 'new
line'
    ELSE 'ü'
  END AS "cluster"
FROM "shop"."sales";
