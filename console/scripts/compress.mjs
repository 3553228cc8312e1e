// Writes a compressed copy next to every built file that compresses well.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUILT = fileURLToPath(new URL("../../src/beamkeep/surfaces/http/console/built/", import.meta.url));
const COMPRESSES = /\.(js|css|html|svg|json)$/;

for (const entry of await readdir(BUILT, { recursive: true, withFileTypes: true })) {
  const file = join(entry.parentPath, entry.name);
  if (entry.isFile() && COMPRESSES.test(file)) await writeFile(`${file}.gz`, gzipSync(await readFile(file), { level: 9 }));
}
