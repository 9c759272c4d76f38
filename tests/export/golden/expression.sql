CASE
  WHEN "petal length" > '-0.3333333333333333'::DOUBLE AND "petal length" <= '0.30000000000000004'::DOUBLE THEN 0
  WHEN ("petal length" <= '-0.3333333333333333'::DOUBLE OR "petal length" > '0.30000000000000004'::DOUBLE) AND "petal length" <> 'NaN'::DOUBLE THEN
    CASE
      WHEN "höhe" <= '1e-07'::DOUBLE THEN 1
      WHEN "höhe" > '1e-07'::DOUBLE AND "höhe" <> 'NaN'::DOUBLE THEN
        CASE
          WHEN "petal length" > '1.7000000000000002'::DOUBLE AND "petal length" <= '2.5'::DOUBLE THEN 2
          WHEN ("petal length" <= '1.7000000000000002'::DOUBLE OR "petal length" > '2.5'::DOUBLE) AND "petal length" <> 'NaN'::DOUBLE THEN 3
        END
    END
END
