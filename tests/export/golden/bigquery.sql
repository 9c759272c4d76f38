CREATE VIEW `v` AS
SELECT *,
  CASE
    WHEN `petal length` > CAST('-0.3333333333333333' AS FLOAT64) AND `petal length` <= CAST('0.30000000000000004' AS FLOAT64) THEN 'it\'s'
    WHEN (`petal length` <= CAST('-0.3333333333333333' AS FLOAT64) OR `petal length` > CAST('0.30000000000000004' AS FLOAT64)) THEN
      CASE
        WHEN `höhe` <= CAST('1e-07' AS FLOAT64) THEN 'back\\slash'
        WHEN `höhe` > CAST('1e-07' AS FLOAT64) THEN
          CASE
            WHEN `petal length` > CAST('1.7000000000000002' AS FLOAT64) AND `petal length` <= CAST('2.5' AS FLOAT64) THEN 'new\nline'
            WHEN (`petal length` <= CAST('1.7000000000000002' AS FLOAT64) OR `petal length` > CAST('2.5' AS FLOAT64)) THEN 'ü'
          END
      END
  END AS `cluster`
FROM `shop`.`sales`;
