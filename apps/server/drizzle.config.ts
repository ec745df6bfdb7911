/**
 * `npx drizzle-kit generate` in this folder writes the next migration from the tables; the server applies it at start. It goes by the
 * newest snapshot: remove the one before. `src/store/migrations.test.ts` holds migrations, snapshot and tables together.
 */
import { defineConfig } from "drizzle-kit"

export default defineConfig({
  dialect: "postgresql",
  schema: "./src/store/tables/!(*.test).ts",
  out: "./src/store/migrations",
})
