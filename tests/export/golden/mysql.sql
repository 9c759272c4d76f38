CREATE VIEW `v` AS
SELECT *,
  CASE
    WHEN `petal length` > -0.3333333333333333e0 AND `petal length` <= 0.30000000000000004e0 THEN 'it''s'
    WHEN (`petal length` <= -0.3333333333333333e0 OR `petal length` > 0.30000000000000004e0) THEN
      CASE
        WHEN `höhe` <= 1e-07 THEN 'back\\slash'
        WHEN `höhe` > 1e-07 THEN
          CASE
            WHEN `petal length` > 1.7000000000000002e0 AND `petal length` <= 2.5e0 THEN 'new
line'
            WHEN (`petal length` <= 1.7000000000000002e0 OR `petal length` > 2.5e0) THEN 'ü'
          END
      END
  END AS `cluster`
FROM `shop`.`sales`;
