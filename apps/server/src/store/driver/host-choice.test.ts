/** Which of several servers takes writes. */
import { setTimeout } from "node:timers/promises"
import { expect, test } from "vitest"
import { createHostChoice } from "./postgres-client.ts"

const refused = (): Error => Object.assign(new Error("no"), { code: "ECONNREFUSED" })

test("calls at a time share one search, its result is kept until it is doubted", async () => {
  const asked: string[] = []
  let primary = "b"
  const choice = createHostChoice(["a", "b"], async host => {
    asked.push(host)
    await setTimeout(1)
    return host === primary ? 1 : undefined
  })
  expect(await Promise.all([choice.current(), choice.current()])).toEqual(["b", "b"])
  expect(await choice.current()).toBe("b")
  expect(asked).toEqual(["a", "b"])
  primary = "a"
  expect(await choice.current()).toBe("b")
  choice.lost("a")
  expect(await choice.current()).toBe("b")
  choice.lost("b")
  const search = choice.current()
  choice.lost("b")
  expect(await Promise.all([search, choice.current()])).toEqual(["a", "a"])
  expect(asked).toEqual(["a", "b", "a", "b"])
})

test("does not wait for a host that hangs", async () => {
  const choice = createHostChoice(["hangs", "b"], host => (host === "b" ? Promise.resolve(1) : new Promise(() => {})))
  expect(await choice.current()).toBe("b")
})

test("of two that take writes it is the one that was promoted last, also when the other answers sooner", async () => {
  const choice = createHostChoice([1, 3, 2], async timeline => {
    await setTimeout(20 * timeline)
    return timeline
  })
  expect(await choice.current()).toBe(3)
})

test("without such a host every call is refused for a while without asking again; a host that answered says why", async () => {
  let searches = 0
  const choice = createHostChoice(["dead", "standby"], async host => {
    if (host === "standby") return undefined
    searches++
    throw refused()
  })
  for (let again = 0; again < 3; again++) {
    choice.lost("dead")
    await expect(choice.current()).rejects.toMatchObject({ code: "NO_PRIMARY" })
  }
  const alone = createHostChoice(["dead"], () => Promise.reject(refused()))
  await expect(alone.current()).rejects.toMatchObject({ code: "ECONNREFUSED" })
  expect(searches).toBe(1)
})
