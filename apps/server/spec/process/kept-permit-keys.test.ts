/**
 * The keys with which permits are checked, as an executor with jose keeps them, while the service key is changed and revoked with the real
 * commands and the servers run. PostgreSQL, since an embedded database has one process.
 */
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { parseStrictJson } from "@runseal/canonical"
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey, jwtVerify } from "jose"
import { afterEach, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { AUDIENCE, asking, opened } from "../harness/asked-permits.ts"
import { type Child, endStrays, runToEnd, startChild } from "../harness/child.ts"
import { expectRefused, listAt, textAt } from "../harness/read-answer.ts"

const TIMEOUT_MS = 480_000
/** How long an executor keeps keys here: longer than the steps between two checks of them. */
const KEPT_MS = 20_000
/** A second look is at a later time than the first. */
const NEXT_SECOND_MS = 1100

const folder = testFolder("runseal-permit-keys")
afterEach(endStrays)

/** The keys as an executor keeps them. An unknown key is looked for at once. @param at the server behind the one address that it knows */
const cachedKeys = (at: () => Child, cacheMaxAge: number): JWTVerifyGetKey =>
  createRemoteJWKSet(new URL("https://runseal.example/.well-known/jwks.json"), {
    cooldownDuration: 0,
    cacheMaxAge,
    [customFetch]: (_href, init) => fetch(new URL("/.well-known/jwks.json", at().url), init),
  })

/** "accepted", or the code of jose's error. */
const judged = (permit: string, keys: JWTVerifyGetKey, issuer: string): Promise<string> =>
  jwtVerify(permit, keys, { algorithms: ["ES256"], typ: "runseal-permit+jwt", audience: AUDIENCE, issuer }).then(
    () => "accepted",
    (error: { readonly code: string }) => error.code,
  )

const served = async (server: Child): Promise<readonly string[]> =>
  listAt((await server.get("/.well-known/jwks.json")).body, "keys").map(key => textAt(key, "kid"))

describe.skipIf(postgresStart.kind === "absent")(postgresTitle, () => {
  test("who keeps the keys finds a new one at its first permit, and drops a revoked one with what it kept; a redemption knows at once", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const options = ["--data-dir", join(folder, "data"), "--database-url", await newPostgresUrl()]
    let server = await startChild(options)
    const issuer = textAt((await server.get("/version")).body, "log_origin")
    const keys = async (...words: readonly string[]): Promise<string> => {
      await setTimeout(NEXT_SECOND_MS)
      const { code, stdout, stderr } = await runToEnd([...options, "keys", ...words])
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      return stdout
    }
    const [long, short] = [cachedKeys(() => server, Number.POSITIVE_INFINITY), cachedKeys(() => server, KEPT_MS)]
    const redeemed = { redeem_required: true, valid_for_seconds: 3600 }
    const before = (await opened(server, redeemed)).body
    const retired = (await served(server))[0] ?? ""
    for (const cached of [long, short]) expect(await judged(textAt(before, "permit"), cached, issuer)).toBe("accepted")

    await keys("rotate", "service")
    // The running server shows both keys, and opens nothing under the one that it knows.
    expect(await served(server)).toHaveLength(2)
    expectRefused(await server.post("/permits", asking()), 503)
    await server.end("SIGTERM")
    server = await startChild(options)
    const after = (await opened(server)).body
    for (const permit of [before, after])
      for (const cached of [long, short])
        expect(await judged(textAt(permit, "permit"), cached, issuer)).toBe("accepted")

    const listed = listAt(parseStrictJson(await keys("list", "--json")), "keys")
    const valid_to = listed.flatMap(key => (textAt(key, "key_id") === retired ? textAt(key, "valid_to") : []))
    await keys("revoke", retired, "--from", valid_to.join())
    expect(await served(server)).not.toContain(retired)
    // What an executor keeps it believes.
    expect(await judged(textAt(before, "permit"), long, issuer)).toBe("accepted")
    const redemption = await server.post(`/permits/${textAt(before, "permit_id")}/redeem`, {
      permit: textAt(before, "permit"),
    })
    expectRefused(redemption, 401)
    expect(redemption.body).toMatchObject({ code: "permit_invalid" })
    await setTimeout(KEPT_MS)
    expect(await judged(textAt(before, "permit"), short, issuer)).toBe("ERR_JWKS_NO_MATCHING_KEY")
    expect(await judged(textAt(after, "permit"), short, issuer)).toBe("accepted")
    await server.end("SIGTERM")
  })
})
