/** *Budgets* of docs/console.md: the runs of the window of each key that spends. */
import { expect, test } from "vitest"
import { ADMIN, mint } from "./harness/key-holders.ts"
import { objectAt } from "./harness/read-answer.ts"
import { request } from "./harness/sample-requests.ts"
import { standingService } from "./harness/test-service.ts"

const service = standingService()

test("budgets show the runs of the window, and keys that spend alone", async () => {
  const admin = await mint(service(), ADMIN)
  const spender = await mint(service(), { name: "spender", tier: "production" }, admin)
  await mint(service(), { name: "reader", scope: "auditor" }, admin)
  await spender.execute(request())
  const { window_seconds } = objectAt((await admin.get("/admin/usage")).body, "keys", 0, "window")
  service().clock.advance(Number(window_seconds) * 1000)
  for (let i = 0; i < 2; i++) await spender.execute(request())
  const session = await service().request("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key: admin.secret }),
  })
  const Cookie = (session.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
  const page = await (await service().request("/console/budgets", { headers: { Cookie } })).text()
  const row = page.split("<tr>").find(each => each.includes("spender")) ?? ""
  const figures = [...row.matchAll(/<td[^>]* class="figure"[^>]*><a href="([^"]*)">([^<]*)</g)].map(
    ([, link, text]) => [link, text],
  )
  expect(figures).toEqual([
    [expect.stringMatching(`^/console/runs\\?key=${spender.id}&amp;from=`), "2"],
    [expect.stringContaining("/console/permits"), "0"],
    [`/console/runs?key=${spender.id}`, "3"],
  ])
  expect(page).not.toContain(">reader<")
})
