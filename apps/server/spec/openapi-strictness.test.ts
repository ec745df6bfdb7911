/** The OpenAPI document is as strict as the service: of a parameter it refuses exactly what is answered with 400. */
import { beforeAll, expect, test } from "vitest"
import { DOCUMENT, mismatch } from "./harness/described.ts"
import { ADMIN, type Holder, mint } from "./harness/key-holders.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()
let admin: Holder
beforeAll(async () => {
  admin = await mint(service(), ADMIN)
})

const parameterOf = (template: string, method: string, name: string): readonly string[] => {
  const parameters = DOCUMENT.paths[template]?.[method]?.parameters ?? []
  return ["paths", template, method, "parameters", `${parameters.findIndex(each => each.name === name)}`, "schema"]
}

test("of the field Idempotency-Key", async () => {
  const place = parameterOf("/execute", "post", "Idempotency-Key")
  const quoted = `"${"k".repeat(255)}"`
  for (const field of [
    '"a"',
    "a",
    quoted,
    '"a b"',
    '"a\\"b"',
    '""',
    '"a',
    "a b",
    "a,b",
    `"${"k".repeat(256)}"`,
    '"\\n"',
  ]) {
    const headers = {
      "Content-Type": "application/json",
      "X-Service-Key": admin.secret ?? "",
      "Idempotency-Key": field,
    }
    const { status } = await service().postRaw("/execute", JSON.stringify(request()), headers)
    expect([field, status === 400]).toEqual([field, mismatch(field, ...place) !== undefined])
  }
})

test("of the place of a page of permits", async () => {
  const place = parameterOf("/admin/permits", "get", "before")
  const permit = `pmt-${"0".repeat(32)}`
  for (const before of [`1767225600000.${permit}`, "", "1", `.${permit}`, `1.${permit}0`, `x.${permit}`]) {
    const { status } = await admin.get(`/admin/permits?before=${before}`)
    expect([before, status === 400]).toEqual([before, mismatch(before, ...place) !== undefined])
  }
})
