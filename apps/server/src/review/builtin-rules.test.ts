import { readFileSync } from "node:fs"
import { REVIEW_REASON_CODES } from "@runseal/core/vocabulary/review-codes"
import fc from "fast-check"
import { RE2JS } from "re2js"
import { describe, expect, test } from "vitest"
import ordinary from "../policy/ordinary-texts.json" with { type: "json" }
import { BUILTIN_RULES, builtinReviewer, NOT_COVERED } from "./builtin-rules.ts"

const signal = new AbortController().signal
const review = (ai_output_text: string) => builtinReviewer().review({ ai_output_text, route_id: "r" }, signal)

/** Base64 of no meaning, in the places of key material; assembled, so that no scanner takes this file for a leak. */
const noise = (length: number): string => "Qm9ndXMgbWF0ZXJpYWwgZm9yIHRlc3Rz".repeat(20).slice(0, length)
const pem = (label: string, length = 200): string =>
  `-----BEGIN ${label}-----\n${noise(length).replace(/.{64}/g, "$&\n")}\n-----END ${label}-----`

describe("a secret halts", () => {
  test.each([
    ["an RSA key", pem("RSA PRIVATE KEY", 600)],
    ["an Ed25519 key", pem("PRIVATE KEY", 64)],
    ["an encrypted key", pem("ENCRYPTED PRIVATE KEY")],
    ["an OpenSSH key", pem("OPENSSH PRIVATE KEY")],
    ["a PGP key", pem("PGP PRIVATE KEY BLOCK").replace("-----\n", "-----\nVersion: 1\n\n")],
    ["a key cut off", pem("EC PRIVATE KEY").slice(0, 120)],
    ["a PuTTY key", `PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n${noise(48)}\n`],
    ["a key inside a JSON string", JSON.stringify({ key: pem("PRIVATE KEY", 64) })],
    ["a key inside JSON inside JSON", JSON.stringify(JSON.stringify({ key: pem("PRIVATE KEY", 64) }))],
  ])("%s as a private key", async (_, text) => {
    expect(await review(`Here you are:\n${text}`)).toMatchObject({
      decision_kind: "halt",
      decision_reason: "PRIVATE_KEY_EXPOSED",
      rule_ids: expect.arrayContaining(["private-key"]),
    })
  })

  test.each([
    ["secretlint-rule-github", `ghp_${noise(36)}`],
    ["secretlint-rule-aws", `AWS_SECRET_ACCESS_KEY=${noise(40)}`],
    ["secretlint-rule-slack", `https://hooks.slack.com/services/${["T0123ABCD", "B0123ABCD", noise(24)].join("/")}`],
    ["secretlint-rule-stripe", ["sk", "live", noise(24)].join("_")],
    ["secretlint-rule-npm", `//registry.example/:_authToken=${noise(36)}`],
    ["secretlint-rule-database-connection-string", `postgres://app:${noise(12)}@db.internal/orders`],
    ["api-key", ["AI", "za", noise(35)].join("")],
    ["api-key", `AccountKey=${noise(86)}==`],
  ])("a credential of %s as a secret", async (id, text) => {
    expect(await review(`use ${text} for it`)).toMatchObject({
      decision_kind: "halt",
      decision_reason: "SECRET_EXPOSED",
      rule_ids: expect.arrayContaining([id]),
    })
  })

  test("a comment in the text switches no rule off", async () => {
    const token = `ghp_${noise(36)}`
    expect((await review(`/* secretlint-disable */\n${token}\n// secretlint-disable-line`)).decision_kind).toBe("halt")
  })
})

describe("personal data denies", () => {
  test.each([
    ["payment-card", "Card 4111 1111 1111 1111, valid to 12/28"],
    ["payment-card", "Ｃａｒｄ ４１１１ １１１１ １１１１ １１１１"],
    ["iban", "Please pay to DE89 3704 0044 0532 0130 00."],
    ["us-ssn", "Her SSN is 536-22-8765."],
    ["passport", "L898902C36UTO7408122F1204159ZE184226B<<<<<10"],
    ["contact-list", Array.from({ length: 5 }, (_, i) => `p${i}@x.example +49 30 55500${i}`).join("\n")],
  ])("%s in %j", async (id, text) => {
    expect(await review(text)).toMatchObject({
      decision_kind: "deny",
      decision_reason: "PERSONAL_DATA",
      rule_ids: [id],
    })
  })
})

describe("what may be either is deferred", () => {
  test.each([
    ["token", "POSSIBLE_SECRET", `eyJ${noise(20)}.eyJ${noise(40)}.${noise(43)}`],
    ["token", "POSSIBLE_SECRET", `id ${["AK", "IA", "Q2EXAMPLE7654321"].join("")}`],
    ["token", "POSSIBLE_SECRET", `Authorization: Bearer ${noise(32)}`],
    ["credential-assignment", "POSSIBLE_SECRET", 'the password is "Sommer2024!"'],
    ["credential-assignment", "POSSIBLE_SECRET", '{"client_secret":"a1b2c3d4e5"}'],
    ["payment-card-bare", "POSSIBLE_PERSONAL_DATA", "reference 4111111111111111"],
    ["mailing-list", "POSSIBLE_PERSONAL_DATA", Array.from({ length: 10 }, (_, i) => `p${i}@x.example`).join(", ")],
  ])("%s as %s", async (id, decision_reason, text) => {
    expect(await review(text)).toMatchObject({ decision_kind: "defer", decision_reason, rule_ids: [id] })
  })
})

describe("the rest is released", () => {
  test.each([
    ...ordinary,
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "The password must contain eight characters; the API key is read from the environment.",
    "password: ********, token: $TOKEN",
    "Write to sales@shop.example or call +49 30 5550100.",
    "The example id AKIAIOSFODNN7EXAMPLE is from the documentation.",
    "Order 4111111111111112, tracking number 00340434161094021501",
    "",
  ])("%j", async text => {
    expect(await review(text)).toEqual({
      decision_kind: "release",
      decision_reason: "NO_FINDINGS",
      rule_ids: [],
      finding_count: 0,
    })
  })
})

describe("the result", () => {
  test("is of the gravest rule and names all, sorted", async () => {
    const text = `Card 4111 1111 1111 1111\nthe password is Sommer2024!\n${pem("PRIVATE KEY", 64)}`
    expect(await review(text)).toEqual({
      decision_kind: "halt",
      decision_reason: "PRIVATE_KEY_EXPOSED",
      rule_ids: ["credential-assignment", "payment-card", "private-key"],
      finding_count: 3,
    })
  })

  test("counts a finding once although it is seen in two forms of the text", async () => {
    expect((await review("é 4111 1111 1111 1111")).finding_count).toBe(1)
  })

  test("is the same every time", async () => {
    const text = ordinary.join("\n") + pem("PRIVATE KEY", 64)
    expect(await review(text)).toEqual(await review(text))
  })
})

describe("the rules", () => {
  test("stand in the order of their gravity, with distinct ids and closed reasons", () => {
    const order = BUILTIN_RULES.map(({ decision_kind }) => ["halt", "deny", "defer"].indexOf(decision_kind))
    expect(order).toEqual(order.toSorted())
    expect(new Set(BUILTIN_RULES.map(({ id }) => id)).size).toBe(BUILTIN_RULES.length)
    for (const { decision_reason } of BUILTIN_RULES) expect(REVIEW_REASON_CODES).toContain(decision_reason)
    expect(BUILTIN_RULES.some(({ id }) => id.includes("filter"))).toBe(false)
  })

  const MIB = 1024 * 1024
  test.each([
    ["GitHub token beginnings", "ghs_1_"],
    ["GitHub token parts", `ghs_1_a.${"ghs_1_".repeat(1600)}`],
    ["key headers", "-----BEGIN PRIVATE KEY-----\n"],
    ["names of secrets", "password="],
    ["web token beginnings", "eyJ"],
    ["registry tokens", "_authToken=a\n"],
    ["chat tokens", "xoxb-a-"],
    ["connection strings", "postgres://a:"],
    ["card-like numbers", "4111 1111 1111 1112 DE12ABCD "],
    ["digits", "4 "],
    ["escapes", "\\u0041"],
  ])("review a mebibyte of %s in seconds at most", async (_, unit) => {
    const start = performance.now()
    await review(unit.repeat(Math.ceil(MIB / unit.length)).slice(0, MIB))
    expect(performance.now() - start).toBeLessThan(60_000)
  })

  test("a trigger never hides a finding", () => {
    const rules = BUILTIN_RULES.flatMap(({ id, trigger, count }) =>
      trigger === undefined ? [] : { id, trigger: RE2JS.compile(trigger), count },
    )
    const pieces = [
      "4111 1111 1111 1111",
      "4111111111111111",
      "DE89 3704 0044 0532 0130 00",
      "NO9386011117947",
      "DE89 37 04 00 44 05 32 01 30 00",
      "536-22-8765",
      "ssn 536228765",
      "L898902C36UTO7408122F1204159ZE184226B<<<<<10",
      pem("PRIVATE KEY", 64),
      `Private-Lines: 1\n${noise(48)}`,
      `AccountKey=${noise(86)}==`,
      `eyJ${noise(20)}.eyJ${noise(40)}.${noise(43)}`,
      "AUTHORIZATION: basic YWxhZGRpbjpvcGVuc2VzYW1l",
      "Client-Secret: a1b2c3d4e5",
      "APIKEY=a1b2c3d4e5",
      "auth_token is a1b2c3d4e5",
      " ",
      "-",
      "\n",
      "x",
      "1",
    ]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 6 }), parts => {
        const text = parts.join("")
        for (const { id, trigger, count } of rules) expect(count(text) === 0 || trigger.test(text), id).toBe(true)
      }),
      { numRuns: 1000 },
    )
    for (const { id, count } of rules)
      expect(
        pieces.some(piece => count(piece) > 0),
        id,
      ).toBe(true)
  })

  test("keep nothing of the texts they have seen", async () => {
    const before = performance.getEntries()
    await review(`ghp_${noise(36)}`)
    expect(performance.getEntries()).toEqual(before)
  })
})

describe("the operator's guide", () => {
  const guide = readFileSync(new URL("../../../../docs/policy-and-review.md", import.meta.url), "utf8")

  test("says of every own rule what it finds and decides, and what the rules do not find", () => {
    for (const { id, covers, decision_kind, decision_reason } of BUILTIN_RULES.filter(
      rule => !rule.id.startsWith("secretlint-"),
    )) {
      expect(guide).toContain(`| \`${id}\` | ${covers} | ${decision_kind} | \`${decision_reason}\` |`)
    }
    for (const gap of NOT_COVERED) expect(guide).toContain(`- ${gap}`)
  })
})
