import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const FEATURES = [
  "board",
  "runs",
  "procedures",
  "equipment",
  "data",
  "decisions",
  "handover",
  "access",
  "palette",
];

/** A feature imports the layers below it and never another feature. */
const isolated = FEATURES.map((name) => ({
  files: [`src/features/${name}/**`],
  rules: {
    "no-restricted-imports": [
      "error",
      {
        patterns: [
          { group: ["**/app/*", "**/app"], message: "A feature does not import the frame." },
          {
            group: FEATURES.filter((other) => other !== name).flatMap((other) => [
              `**/features/${other}`,
              `**/features/${other}/*`,
              `../${other}`,
              `../${other}/*`,
            ]),
            message: "A feature does not import another feature.",
          },
        ],
      },
    ],
  },
}));

/** Components show what they are given: they read nothing. */
const shown = {
  files: ["src/ui/**"],
  rules: {
    "no-restricted-imports": [
      "error",
      {
        patterns: [
          {
            group: ["../api/client", "../api/useRead", "../api/useAction", "../auth/*", "../feed/*", "../actions/*"],
            message: "A component has no access to data.",
          },
        ],
      },
    ],
  },
};

export default tseslint.config(
  { ignores: ["node_modules", "src/api/schema.d.ts", "src/api/names.d.ts"] },
  {
    files: ["**/*.{ts,tsx}"],
    extends: [...tseslint.configs.strictTypeChecked],
    plugins: { "react-hooks": hooks },
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      ...hooks.configs.recommended.rules,
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // Whether an assertion on a request is needed depends on the generated schema of the day.
      "@typescript-eslint/no-unnecessary-type-assertion": "off",
      // The compiler knows that an index may be missing; the schema's types may not.
      "@typescript-eslint/no-unnecessary-condition": "off",
    },
  },
  ...isolated,
  shown,
);
