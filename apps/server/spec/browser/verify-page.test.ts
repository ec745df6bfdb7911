/** `GET /verify`: one file, which verifies in the visitor's browser what it is given. In a real one where Chromium is installed. */
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { encodeBase64, sha256, utf8Encode } from "@runseal/canonical"
import { shortMessage } from "@runseal/core/presentation/account"
import { printable } from "@runseal/core/presentation/printable"
import { isUnreadable, verifyText } from "@runseal/core/verify/document"
import { VERDICTS } from "@runseal/core/verify/report"
import { loadPage } from "@runseal/verify-page/load-page"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { makeDeployment, sealRun } from "../../../../libs/core/test/fixtures/deployment.ts"
import { createApp } from "../../src/app.ts"
import { CHROMIUM, HAS_CHROMIUM, standingVisitor, type Visit } from "../harness/browser.ts"
import { type CASES, standingSevenStates } from "../harness/seven-states.ts"

import { standingService } from "../harness/test-service.ts"
import { choose, drop, type FileToGive, shown, verified } from "../harness/verify-page-parts.ts"

/**
 * What a visitor on a slow line loads at most. A tenth of it verifies the cosignatures of witnesses, of Ed25519 and ML-DSA-44; 63,000 bytes
 * are the typeface, since the page is one file (decision 0380).
 */
const MAX_PAGE_BYTES = 450_000

describe("the page", () => {
  const service = standingService()

  test("is one file that asks for no other, and is small", async () => {
    const { status, headers, text } = await service().get("/verify")
    expect(status).toBe(200)
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8")
    const markup = text.replaceAll(/<(script|style)>[\s\S]*?<\/\1>/g, "")
    expect(markup.match(/\b(?:src|srcset|action|style|on\w+)=/g) ?? []).toEqual([])
    expect([...markup.matchAll(/<link [^>]*href="([^"]{5})/g)].map(([, address]) => address)).toEqual(["data:"])
    // Beside itself, the head of all pages.
    const led = [...markup.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, address]) => address)
    expect(led).toEqual(["#main", "./", "console", "verify", "docs"])
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_PAGE_BYTES)
    // It compares a record with nothing that a reader expects, and names the command that does.
    expect(markup).toContain("verifier bundle.json --require-outcome ok --payload payload.txt")
  })

  test("runs its own script and style, and may ask this service alone", async () => {
    const { headers, text } = await service().get("/verify")
    const hash = (tag: string): string => {
      const [, inner = ""] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(text) ?? []
      expect(inner.length).toBeGreaterThan(1000)
      return `'sha256-${encodeBase64(sha256(utf8Encode(inner)))}'`
    }
    const own = `default-src 'none'; script-src ${hash("script")}; style-src ${hash("style")}; font-src data:; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'`
    expect(headers.get("content-security-policy")).toBe(`${own}; frame-ancestors 'none'`)
    expect(text).toContain(`<meta http-equiv="Content-Security-Policy" content="${own}">`)
    expect(headers.get("x-content-type-options")).toBe("nosniff")
    expect(headers.get("x-frame-options")).toBe("DENY")
  })

  test("may be cached for a while and is not sent again to a browser that has it", async () => {
    const { headers } = await service().get("/verify")
    expect(headers.get("cache-control")).toBe("public, max-age=300")
    const etag = headers.get("etag") ?? ""
    const again = await service().request("/verify", { headers: { "If-None-Match": etag } })
    expect({ status: again.status, text: await again.text() }).toEqual({ status: 304, text: "" })
  })

  test("is what its sources make, never an older one", async () => {
    expect((await service().get("/verify")).text).toBe((await loadPage()).html)
  })
})

describe.skipIf(!HAS_CHROMIUM)(`the page in ${CHROMIUM}`, () => {
  const { service, runId } = standingSevenStates()
  const { address, visit } = standingVisitor(() => createApp(service().deps))
  const stranger = makeDeployment({ seed: "stranger", service: "A stranger's service" })
  const strangersTrust: FileToGive = { name: "stranger.json", bytes: JSON.stringify(stranger.trustDocument) }
  const visits: Visit[] = []
  let page: Visit["page"]
  const folder = mkdtempSync(join(tmpdir(), "runseal-page-"))
  afterAll(() => rmSync(folder, { recursive: true }))

  const visited: typeof visit = async (path, options) => {
    const made = await visit(path, options)
    visits.push(made)
    return made
  }
  const bundle = async (name: (typeof CASES)[number] = "ok"): Promise<string> =>
    (await service().get(`/runs/${runId(name)}/artifacts`)).text
  const report = async (): Promise<Uint8Array> => {
    const response = await service().request(`/runs/${runId("ok")}/report.pdf?format=brief`)
    expect(response.status).toBe(200)
    return new Uint8Array(await response.arrayBuffer())
  }
  const serviceTrust = async (): Promise<FileToGive> => ({
    name: "runseal-trust.json",
    bytes: (await service().get("/.well-known/runseal-trust.json")).text,
  })

  beforeAll(async () => {
    page = (await visited("/verify")).page
  })

  /** Holds the result against the same engine in Node. */
  const expectAsInNode = async (name: string, text: string): Promise<void> => {
    const inNode = verifyText(text, [service().deps.trust])
    if (isUnreadable(inNode)) throw new Error(inNode.unreadable)
    const found = await verified(page, { name, bytes: text })
    expect(found.verdict).toBe(inNode.verdict)
    expect(found.checks).toEqual(
      inNode.checks.map(({ id, result, message }) => [id, result, printable(shortMessage(message))]),
    )
    for (const { sentence } of inNode.limitations) expect(found.text).toContain(sentence)
    if (inNode.statement !== undefined) expect(found.text).toContain(inNode.statement)
  }

  test("says whose keys it believes, with their fingerprints, and that they are to be compared", async () => {
    const { trust } = service().deps
    const keys = page.locator("#keys")
    await keys.locator("summary").click()
    const text = await keys.innerText()
    expect(text).toContain(`Those of ${trust.service}, as this address (${new URL(address()).host}) publishes them.`)
    for (const { keyId } of trust.serviceKeys) expect(text).toContain(keyId)
    expect(text).toContain("compare the fingerprints")
  })

  test.each(["ok", "stage_error"] as const)("judges the bundle of %s as the command line does", async name => {
    await expectAsInNode(`${name}.json`, await bundle(name))
  })

  test.each([
    ["ok", "good", / was admitted, checked and sealed$/],
    ["deny_by_signature", "warn", / was denied: MCD-[A-Z]+-\d+, a signature of malicious code$/],
    ["deny_by_rule", "warn", / was denied: rule [a-z-]+ of the policy$/],
    ["ccv_halt", "warn", / was halted: \d+ tokens declared/],
    ["attestation_gap", "warn", / was not admitted: /],
    ["stage_error", "bad", / failed: /],
  ] as const)("says first how run %s ended, then that its record is genuine", async (name, tone, ending) => {
    const { verdict, text } = await verified(page, { name: `first-${name}.json`, bytes: await bundle(name) })
    expect(verdict).toMatch(/^VERIFIED AND ANCHORED/)
    const outcome = page.locator("#result > :first-child")
    expect(await outcome.getAttribute("class")).toBe(`outcome ${tone}`)
    expect(await outcome.innerText()).toMatch(ending)
    expect(text).toContain("The record is genuine")
  })

  test("says why a run was refused, and nothing of the kind of another", async () => {
    const denied = await verified(page, { name: "why.json", bytes: await bundle("deny_by_rule") })
    expect(denied.text).toMatch(/Why it was refused\s+reason\s+RULE_DENIED\s+rule_id\s+[a-z-]+\s/)
    const admitted = await verified(page, { name: "why-not.json", bytes: await bundle() })
    expect(admitted.text).not.toContain("Why it")
  })

  test("judges receipts and attestations as the command line does", async () => {
    await expectAsInNode("receipt.json", (await service().get(`/runs/${runId("ccv_halt")}/ccv-halt-receipt`)).text)
    const made = await service().post("/attest", { digest: "5e".repeat(32), algorithm: "sha256" })
    await expectAsInNode("attestation.json", made.text)
  })

  test("judges a report in PDF by the bundle that it carries", async () => {
    const found = await verified(page, { name: "report.pdf", bytes: await report() })
    expect(found.verdict).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
    expect(found.text).toContain(
      `held against the keys of ${service().deps.trust.service}, as this address publishes them.`,
    )
    expect(found.checks.at(-1)?.slice(0, 2)).toEqual(["report_signature", "pass"])
    expect(found.text).toContain("A report's pages are the service's words")
  })

  test("verifies nothing of a report that was cut", async () => {
    const found = await verified(page, { name: "cut.pdf", bytes: (await report()).subarray(0, -100) })
    expect(found.verdict).toBe("NOTHING WAS VERIFIED")
    expect(found.text).toContain("it was cut")
  })

  test("finds one changed byte, names the check and says what to do", async () => {
    const changed = (await bundle()).replace(
      /"payload_hash":"(.)/,
      (_, digit) => `"payload_hash":"${digit === "0" ? "1" : "0"}`,
    )
    const found = await verified(page, { name: "changed.json", bytes: changed })
    expect(found.verdict).toBe("FAILED")
    expect(await page.locator("#result .outcome").count()).toBe(0)
    expect(found.text).toMatch(/First failed check, sections: /)
    expect(found.text).toContain("What to do")
    expect(found.text).toContain("save both as evidence")
  })

  test("reads a file that is dropped on it, and one that was changed and chosen again", async () => {
    const text = await bundle()
    await drop(page, "#document-zone", { name: "dropped.json", bytes: text })
    expect((await shown(page, "dropped.json")).verdict).toMatch(/^VERIFIED/)
    await choose(page, "document", { name: "dropped.json", bytes: text.replace("vfa", "vfx") })
    await page.locator("#result .verdict.bad").waitFor()
    await drop(page, "body", { name: "beside.json", bytes: text })
    expect(page.url()).toBe(`${address()}/verify`)
  })

  test("verifies none of several files that are dropped at once: the result of one would be taken for all", async () => {
    const text = await bundle()
    await drop(page, "#document-zone", { name: "good.json", bytes: text }, { name: "bad.json", bytes: "{" })
    const found = await shown(page, "Several files")
    expect(found.verdict).toBe("NOTHING WAS VERIFIED")
    expect(found.text).toContain("this page reads one at a time.")
    const { page: other } = await visited("/verify")
    await drop(other, "#trust-zone", strangersTrust, await serviceTrust())
    await other.locator("#trust-note").filter({ hasText: "several files" }).waitFor()
    expect(await other.locator("#keys").innerText()).toContain("as this address")
  })

  test("believes the trust document that was given last, also where an earlier one is read later", async () => {
    const { page: other } = await visited("/verify")
    // As a file on a slow disk is.
    await other.evaluate(() => {
      const read = File.prototype.arrayBuffer
      File.prototype.arrayBuffer = async function () {
        if (this.name === "slow.json") await new Promise(resolve => setTimeout(resolve, 1000))
        return read.call(this)
      }
    })
    await choose(other, "trust", { ...strangersTrust, name: "slow.json" })
    await choose(other, "trust", await serviceTrust())
    await other.locator("#keys").filter({ hasText: "from your file runseal-trust.json" }).waitFor()
    await other.waitForTimeout(1500)
    expect(await other.locator("#keys").innerText()).toContain("from your file runseal-trust.json")
  })

  test("fits a phone, whatever a file is called", async () => {
    const { page: phone } = await visited("/verify", { viewport: { width: 320, height: 700 } })
    const name = `${"n".repeat(200)}.json`
    for (const bytes of [await bundle(), "{"]) {
      await verified(phone, { name, bytes })
      expect(await phone.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
    }
    await choose(phone, "trust", { name, bytes: "{" })
    await phone.locator("#trust-note").filter({ hasText: "no trust document" }).waitFor()
    await choose(phone, "trust", { ...(await serviceTrust()), name })
    await phone.locator("#keys").filter({ hasText: "from your file" }).waitFor()
    expect(await phone.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
  })

  test("summarises the evidence of a bundle", async () => {
    const { text } = await verified(page, { name: "ok.json", bytes: await bundle() })
    expect(text).toContain("What the record says")
    expect(text).toContain(JSON.parse(await bundle()).bundle_hash)
  })

  test.each([
    ["no JSON", "{", "not strict JSON"],
    ["an error answer", '{"ok":false,"error":"x"}', "this is an error answer"],
    ["nothing", "", "not strict JSON"],
  ])("verifies nothing of %s", async (name, bytes, sentence) => {
    const found = await verified(page, { name, bytes })
    expect(found.verdict).toBe("NOTHING WAS VERIFIED")
    expect(found.text).toContain(sentence)
    expect(found.text).not.toContain("..")
  })

  test("passes over one byte order mark, of a record and of a trust document, and names a file in UTF-16", async () => {
    const { page: other } = await visited("/verify")
    const trust = (await serviceTrust()).bytes
    const wide = (text: string | Uint8Array): Uint8Array => Buffer.from(`\ufeff${text}`, "utf16le")
    await choose(other, "trust", { name: "marked-trust.json", bytes: `\ufeff${trust}` })
    await other.locator("#keys").filter({ hasText: "from your file marked-trust.json" }).waitFor()
    const marked = await verified(other, { name: "marked.json", bytes: `\ufeff${await bundle()}` })
    expect(marked.verdict).toBe(VERDICTS.complete)
    const unread = await verified(other, { name: "wide.json", bytes: wide(await bundle()) })
    expect(unread.verdict).toBe("NOTHING WAS VERIFIED")
    expect(unread.text).toContain("UTF-16 text")
    await choose(other, "trust", { name: "wide-trust.json", bytes: wide(trust) })
    await other.locator("#trust-note").filter({ hasText: "UTF-16 text" }).waitFor()
  })

  test("reads no file of more than 64 MiB", async () => {
    const path = join(folder, "huge.json")
    writeFileSync(path, "")
    truncateSync(path, 64 * 1024 * 1024 + 1)
    await page.locator("#document-file").setInputFiles(path)
    expect((await shown(page, "huge.json")).text).toContain("It is larger than 67108864 bytes.")
  })

  test("believes no trust document that is given as a record, and none that is damaged", async () => {
    const { text } = await verified(page, { ...(await serviceTrust()), name: "as-record.json" })
    expect(text).toContain("it is a trust document, no record")
    await choose(page, "trust", { name: "damaged.json", bytes: '{"kind":"vfa.trust.v1"}' })
    await page.locator("#trust-note").filter({ hasText: "damaged.json is no trust document to rely on." }).waitFor()
    expect(await page.locator("#keys").innerText()).toContain("as this address")
  })

  test("holds a record against the keys of the visitor's file, and judges anew when the file changes", async () => {
    const { page: other } = await visited("/verify")
    await verified(other, { name: "ok.json", bytes: await bundle() })
    await choose(other, "trust", strangersTrust)
    await other.locator("#result .verdict.bad").waitFor()
    const failed = await shown(other, "ok.json")
    expect(failed.verdict).toBe("FAILED")
    expect(await other.locator("#result h2.outcome.warn").innerText()).toMatch(/^NOT TRUSTED: you trust no key/)
    expect(failed.text).toContain("No trust document of yours vouches for the log and the service key of this record.")
    expect(await other.locator("#keys").innerText()).toContain("A stranger's service, from your file stranger.json")
    await drop(other, "#trust-zone", await serviceTrust())
    await other.locator("#result .verdict.good").waitFor()
    const foreign = await verified(other, {
      name: "foreign.json",
      bytes: JSON.stringify(sealRun(stranger, { outcome: "ok" }).bundle),
    })
    expect(foreign.verdict).toBe("FAILED")
    // One that is wrong by itself is not called one that only lacks a key, nor is its outcome given as more than a claim.
    const { bundle: denied } = sealRun(stranger, { outcome: "pepg_deny" })
    const forged = { ...denied, bundle_hash: "0".repeat(64) }
    const { text } = await verified(other, { name: "forged.json", bytes: JSON.stringify(forged) })
    expect(text).not.toContain("NOT TRUSTED")
    expect(text).toContain("Wrong whatever keys you trust, bundle_hash: the bundle does not match its hash")
    expect(text).toContain(`that claims to be of run ${denied.run.run_id}, outcome pepg_deny`)
  })

  test("shows hostile text as text", async () => {
    const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>\u202e`
    const deployment = makeDeployment({ seed: "hostile", service: hostile })
    const { bundle: sealed } = sealRun(deployment, { outcome: "ok" })
    const forged = JSON.stringify({ ...sealed, run: { ...sealed.run, tenant_id: hostile, route_id: hostile } })
    const { page: other } = await visited("/verify")
    await choose(other, "trust", { name: `${hostile}.json`, bytes: JSON.stringify(deployment.trustDocument) })
    await other.locator("#keys").filter({ hasText: "from your file" }).waitFor()
    for (const bytes of [forged, JSON.stringify(sealed), `{"${hostile}": 1}`, hostile]) {
      await choose(other, "document", { name: hostile, bytes })
      await other.locator("#result .verdict").waitFor()
    }
    expect(await other.locator("main img, main script, #result a").count()).toBe(0)
    expect(await other.title()).toBe("Verify a Runseal record")
    expect(await other.locator("main").innerText()).not.toContain("\u202e")
    expect(await other.locator("#keys").innerText()).toContain("<img src=x onerror=")
  })

  test("can be used by keyboard, and announces its status to screen readers", async () => {
    const { page: other } = await visited("/verify")
    // Asked for before the first key, so that the browser does not open a dialog of its own.
    const opened = other.waitForEvent("filechooser")
    for (const key of ["Tab", "Enter", "Tab"]) await other.keyboard.press(key)
    expect(await other.evaluate(() => document.activeElement?.id)).toBe("document-file")
    await other.keyboard.press("Space")
    const chooser = await opened
    await chooser.setFiles({ name: "ok.json", mimeType: "application/json", buffer: Buffer.from(await bundle()) })
    await shown(other, "ok.json")
    const status = other.getByRole("status")
    expect(await status.innerText()).toBe(
      `ok.json: Run ${runId("ok")} was admitted, checked and sealed; VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED`,
    )
    expect(await other.getByRole("heading", { level: 1 }).count()).toBe(1)
    expect(await other.getByLabel("Choose a file, or drop it here").count()).toBe(1)
  })

  test("needs no network once it is loaded", async () => {
    const { page: other } = await visited("/verify")
    await other.locator("#keys").filter({ hasText: "as this address" }).waitFor()
    await other.context().setOffline(true)
    expect((await verified(other, { name: "report.pdf", bytes: await report() })).verdict).toMatch(/^VERIFIED/)
  })

  test("opened from disk it knows no keys but those it is given", async () => {
    const path = join(folder, "verify.html")
    writeFileSync(path, (await service().get("/verify")).text)
    const { page: other, asked } = await visited(pathToFileURL(path).href)
    const untrusted = await verified(other, { name: "ok.json", bytes: await bundle() })
    expect(untrusted.verdict).toBe("FAILED")
    expect(untrusted.text).toContain("Save https://SERVICE/.well-known/runseal-trust.json")
    await choose(other, "trust", await serviceTrust())
    await other.locator("#result .verdict.good").waitFor()
    expect((await verified(other, { name: "report.pdf", bytes: await report() })).verdict).toMatch(/^VERIFIED/)
    expect(asked).toEqual([pathToFileURL(path).href])
  })

  test("asked for itself and the trust document alone, and broke no policy", () => {
    const allowed = new Set([`${address()}/verify`, `${address()}/.well-known/runseal-trust.json`])
    const served = visits.flatMap(({ asked }) => asked).filter(url => !url.startsWith("file:"))
    expect(served.filter(url => !allowed.has(url))).toEqual([])
    expect(visits.flatMap(({ complaints }) => complaints)).toEqual([])
  })

  test("the browser itself would refuse markup made of text, scripts from elsewhere, and other hosts", async () => {
    const { page: other } = await visit("/verify")
    const refused = await other.evaluate(async () => {
      const attempt = async (act: () => unknown): Promise<string> => {
        try {
          await act()
          return "done"
        } catch {
          return "refused"
        }
      }
      return [
        await attempt(() => {
          document.body.innerHTML = "<p>x</p>"
        }),
        await attempt(() => fetch("https://other.example/")),
      ]
    })
    expect(refused).toEqual(["refused", "refused"])
  })
})
