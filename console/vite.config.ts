import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** The service that the development server forwards requests to. */
const service = process.env.BEAMKEEP_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  base: "/console/",
  plugins: [react()],
  build: {
    outDir: "../src/beamkeep/surfaces/http/console/built",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    sourcemap: false,
  },
  server: {
    proxy: {
      // Everything but the console, and the one file of the console that the service makes.
      "^/(?!console/)": { target: service, changeOrigin: true },
      "/console/settings.json": {
        target: service,
        changeOrigin: true,
        // A service without a console answers 404; the console then uses its defaults.
      },
    },
  },
  // A loaded computer is slow: a test that does not end fails, and none is judged by seconds.
  test: { include: ["tests/**/*.test.{ts,tsx}"], environment: "jsdom", testTimeout: 60_000 },
});
