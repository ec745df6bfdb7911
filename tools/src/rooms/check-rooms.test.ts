import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { checkRooms } from "./check-rooms.ts"
import { ROOT } from "./repository-files.ts"
import { PACKAGE_SOURCES, ROOMS } from "./rooms.ts"
import { sourceFile } from "./source-file.ts"

const rulesBroken = (path: string, text: string): string[] =>
  checkRooms(sourceFile(path, text)).map(found => found.rule)

type Sample = readonly [path: string, imported: string]

describe("open doors", () => {
  const open: readonly Sample[] = [
    ["libs/canonical/src/digest.ts", 'import { sha256Hex } from "#sha256"'],
    ["libs/canonical/src/digest.ts", 'import { canonicalize } from "./canonicalize.ts"'],
    ["libs/canonical/src/sha256.noble.ts", 'import { sha256 } from "@noble/hashes/sha2.js"'],
    ["libs/canonical/src/sha256.node.ts", 'import { hash } from "node:crypto"'],
    ["libs/core/src/artifacts/anchor.ts", 'import { entrySchema } from "@runseal/log/entries/log-entry"'],
    ["libs/core/src/formulas/seal.ts", 'import { digest } from "@runseal/canonical"'],
    ["libs/core/src/verify/bundle.ts", 'import { sealOf } from "../formulas/seal.ts"'],
    ["libs/log/src/notes/verified-note.ts", 'import { verify } from "#signatures"'],
    ["libs/log/src/keys/signatures.node.ts", 'import { createHash, verify } from "node:crypto"'],
    ["libs/sdk/src/client.ts", 'import type { RunSummary } from "@runseal/core/wire/run-summaries"'],
    ["apps/verifier-cli/src/main.ts", 'import { verify } from "@runseal/core/verify/document"'],
    ["apps/server/src/app.ts", 'import { runRoutes } from "./http/routes/runs-routes.ts"'],
    ["apps/server/src/http/routes/runs-routes.ts", 'import { seal } from "../../sealing/sealer.ts"'],
    ["apps/server/src/http/routes/runs-routes.ts", 'import { Hono } from "hono"'],
    ["apps/server/src/store/runs.ts", 'import { eq } from "drizzle-orm"'],
    ["apps/server/src/http/access/api-key.ts", 'import { createHash } from "node:crypto"'],
    ["apps/server/src/http/origin.ts", 'import { createHmac } from "node:crypto"'],
    ["libs/pdf/src/file/pdf-document.ts", 'import { PDFDocument } from "@cantoo/pdf-lib"'],
    ["apps/server/spec/execute.test.ts", 'import { createClient } from "@runseal/sdk"'],
    ["libs/core/src/artifacts/bundle.test.ts", 'import { verify } from "../verify/document.ts"'],
    ["libs/core/test/vectors.test.ts", 'import { readFileSync } from "node:fs"'],
    ["tools/src/demo/main.ts", 'import { boot } from "@runseal/server/boot"'],
    ["vitest.config.ts", 'import { anything } from "./apps/server/src/app.ts"'],
  ]
  test.each(open)("%s: %s", (path, imported) => {
    expect(rulesBroken(path, imported)).toEqual([])
  })
})

describe("closed doors", () => {
  const closed: readonly (readonly [...Sample, rule: string])[] = [
    [
      "libs/canonical/src/a.ts",
      'import { x } from "@runseal/core/formulas/seal"',
      "room: libs/canonical may not enter libs/core/src/formulas/seal",
    ],
    [
      "libs/core/src/vocabulary/a.ts",
      'import type { X } from "../artifacts/bundle-schema.ts"',
      "room: libs/core/src/vocabulary may not enter libs/core/src/artifacts/bundle-schema.ts",
    ],
    [
      "libs/core/src/artifacts/a.ts",
      'export { x } from "../formulas/seal.ts"',
      "room: libs/core/src/artifacts may not enter libs/core/src/formulas/seal.ts",
    ],
    [
      "libs/log/src/keys/a.ts",
      'const x = await import("@runseal/core/vocabulary/scalars")',
      "room: libs/log/src/keys may not enter libs/core/src/vocabulary/scalars",
    ],
    [
      "libs/core/src/formulas/a.ts",
      'import { x } from "#signatures"',
      "room: libs/core/src/formulas may not enter libs/log/src/keys/signatures.noble.ts",
    ],
    [
      "libs/core/src/wire/a.ts",
      'import { x } from "../formulas/seal.ts"',
      "room: libs/core/src/wire may not enter libs/core/src/formulas/seal.ts",
    ],
    [
      "libs/core/src/verify/a.ts",
      'import { x } from "../../../../apps/server/src/app.ts"',
      "room: libs/core/src/verify may not enter apps/server/src/app.ts",
    ],
    [
      "libs/core/src/verify/a.test.ts",
      'import { x } from "@runseal/server/app"',
      "room: libs/core/src/verify may not enter apps/server/src/app",
    ],
    [
      "libs/sdk/src/a.ts",
      'import { x } from "@runseal/server/app"',
      "room: libs/sdk may not enter apps/server/src/app",
    ],
    [
      "apps/verifier-cli/src/a.ts",
      'import { x } from "@runseal/sdk"',
      "room: apps/verifier-cli may not enter libs/sdk/src",
    ],
    [
      "apps/server/src/http/routes/a.ts",
      'import { x } from "@runseal/sdk"',
      "room: apps/server/src/http may not enter libs/sdk/src",
    ],
    [
      "libs/core/src/seal/a.ts",
      'import { decide } from "@runseal/policy/decide"',
      "room: libs/core/src/seal may not enter libs/policy/src/decide",
    ],
    [
      "apps/server/src/policy/a.ts",
      'import { x } from "../store/runs.ts"',
      "room: apps/server/src/policy may not enter apps/server/src/store/runs.ts",
    ],
    [
      "apps/server/src/policy/stages/a.ts",
      'import { x } from "../../http/render-error.ts"',
      "room: apps/server/src/policy may not enter apps/server/src/http/render-error.ts",
    ],
    [
      "apps/server/src/store/a.ts",
      'import { x } from "../http/routes/runs-routes.ts"',
      "room: apps/server/src/store may not enter apps/server/src/http/routes/runs-routes.ts",
    ],
    [
      "apps/server/src/http/routes/a.ts",
      'import { x } from "../../app.ts"',
      "room: apps/server/src/http may not enter apps/server/src/app.ts",
    ],
    ["apps/server/src/extras/a.ts", "", "room: apps/server/src/extras has no row in tools/src/rooms/rooms.ts"],
    ["libs/core/src/extras/a.ts", "", "room: libs/core/src/extras has no row in tools/src/rooms/rooms.ts"],
    ["libs/extras/src/a.ts", "", "room: libs/extras/src has no row in tools/src/rooms/rooms.ts"],
  ]
  test.each(closed)("%s: %s", (path, imported, rule) => {
    expect(rulesBroken(path, imported)).toEqual([rule])
  })
})

describe("packages stay in their rooms", () => {
  const refused: readonly (readonly [...Sample, rule: string])[] = [
    [
      "libs/core/src/verify/a.ts",
      'import { readFileSync } from "node:fs"',
      "package: Node's own modules (node:fs) may not be imported here",
    ],
    [
      "libs/core/src/verify/a.ts",
      'import { sha256 } from "@noble/hashes/sha2.js"',
      "package: hashing (@noble/hashes/sha2.js) may not be imported here",
    ],
    [
      "apps/server/src/http/routes/a.ts",
      'import { randomBytes, createHash } from "node:crypto"',
      "package: hashing (node:crypto) may not be imported here",
    ],
    [
      "apps/server/src/sealing/a.ts",
      'import * as crypto from "node:crypto"',
      "package: hashing (node:crypto) may not be imported here",
    ],
    [
      "apps/server/src/http/routes/a.ts",
      'import { request } from "node:https"',
      "package: connections to other machines (node:https) may not be imported here",
    ],
    [
      "apps/server/src/sealing/a.ts",
      'import { connect as open } from "node:tls"',
      "package: connections to other machines (node:tls) may not be imported here",
    ],
    [
      "apps/server/src/http/routes/a.ts",
      'import { sql } from "drizzle-orm"',
      "package: the database (drizzle-orm) may not be imported here",
    ],
    [
      "apps/server/src/policy/a.ts",
      'import type { Sql } from "postgres"',
      "package: the database (postgres) may not be imported here",
    ],
    [
      "apps/server/src/store/a.ts",
      'import type { Context } from "hono"',
      "package: HTTP (hono) may not be imported here",
    ],
    [
      "apps/server/src/policy/a.ts",
      'import { HTTPException } from "hono/http-exception"',
      "package: HTTP (hono/http-exception) may not be imported here",
    ],
    [
      "apps/server/src/report/blocks.ts",
      'import { rgb } from "pdf-lib"',
      "package: PDF code (pdf-lib) may not be imported here",
    ],
  ]
  test.each(refused)("%s: %s", (path, imported, rule) => {
    expect(rulesBroken(path, imported)).toEqual([rule])
  })
  test("a file of Node's own in a library still does not hash outside the hashing rooms", () => {
    expect(rulesBroken("libs/core/src/verify/a.node.ts", 'import { createHash } from "node:crypto"')).toEqual([
      "package: hashing (node:crypto) may not be imported here",
    ])
  })
})

test("a violation is at the line of its import", () => {
  const text = 'import { a } from "./a.ts"\nimport {\n  b,\n} from "../store/b.ts"\n'
  expect(checkRooms(sourceFile("apps/server/src/policy/x.ts", text))).toMatchObject([{ line: 4 }])
})

test("no two rows are about the same room, and every package name leads somewhere", () => {
  expect(new Set(ROOMS.map(room => room.path)).size).toBe(ROOMS.length)
  expect(PACKAGE_SOURCES.filter(([, path]) => !existsSync(join(ROOT, path.split("/src")[0] ?? "")))).toEqual([])
})
