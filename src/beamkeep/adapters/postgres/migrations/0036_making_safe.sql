-- Whoever may hold a procedure may also make it safe: the rows of policies that exist already.

SET ROLE bk_owner;

UPDATE bk.policy_grant
   SET permitted_commands = ARRAY(
         SELECT name FROM unnest(permitted_commands || 'make_procedure_safe'::text) AS name
          ORDER BY name COLLATE "C")
 WHERE 'hold_procedure' = ANY(permitted_commands)
   AND NOT 'make_procedure_safe' = ANY(permitted_commands);

RESET ROLE;
