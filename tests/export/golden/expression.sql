CASE
  WHEN "petal length" > '-0.3333333333333333'::DOUBLE AND "petal length" <= '0.30000000000000004'::DOUBLE THEN 0
  WHEN "höhe" <= 1e-07 THEN 1
  WHEN "petal length" > '1.7000000000000002'::DOUBLE AND "petal length" <= 2.5 THEN 2
  ELSE 3
END
