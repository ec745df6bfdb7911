/** docs/api.md, "Keys": a run of others is answered as one that does not exist. */
import { OUTCOME_KINDS, OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import { REQUEST_ID_HEADER } from "@runseal/core/wire/error-codes"
import { beforeAll, expect, test } from "vitest"
import { eachDatabase } from "../database/databases.ts"
import { ADMIN, CUSTOMER, type Holder, mint } from "../harness/key-holders.ts"
import { type Answer, expectRefused, listAt, numberAt, withoutRequestId } from "../harness/read-answer.ts"
import { CASES, type CaseName, executeEvery, STATE_OF, standingSevenStates } from "../harness/seven-states.ts"

const ARTIFACT_PATHS = OUTCOME_KINDS.flatMap(kind => OUTCOMES[kind].artifact?.path ?? [])
const PER_RUN = ["", "/verify", "/artifacts", ...ARTIFACT_PATHS.map(path => `/${path}`)]

/** All but what counts and names the requests made. */
const headersOf = ({ headers }: Answer): readonly (readonly [string, string])[] =>
  [...headers].filter(([name]) => name !== "ratelimit" && name !== REQUEST_ID_HEADER.toLowerCase())

const textOf = (answer: Answer): string => withoutRequestId(answer.text, answer)

type RunIds = Readonly<Record<CaseName, number>>

eachDatabase("ownership", open => {
  const { service } = standingSevenStates(open)
  let [admin, owner, other]: readonly (Holder | undefined)[] = []
  let owned: RunIds | undefined
  const known = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("made before the first test")
    return value
  }

  beforeAll(async () => {
    // The harness executed every case in open mode; what follows is locked.
    admin = await mint(service(), ADMIN)
    owner = await mint(service(), CUSTOMER, admin)
    other = await mint(service(), CUSTOMER, admin)
    const answers = await executeEvery({ ...service(), execute: owner.execute })
    owned = Object.fromEntries(CASES.map(name => [name, numberAt(answers[name].body, "run_id")])) as RunIds
  })

  test.each(CASES)(
    "%s: every per-run endpoint serves the owner and answers others as if there were no run",
    async name => {
      const id = known(owned)[name]
      for (const path of PER_RUN) {
        const served = await known(owner).get(`/runs/${id}${path}`)
        const isOther = ARTIFACT_PATHS.some(artifact => path === `/${artifact}`) && !path.endsWith(ownArtifact(name))
        expect(served.status, path).toBe(isOther ? 404 : 200)
        for (const stranger of [known(admin), known(other)]) {
          const refused = await stranger.get(`/runs/${id}${path}`)
          const unknown = await stranger.get(`/runs/999999${path}`)
          expectRefused(refused, 404)
          expect([textOf(refused), headersOf(refused)], path).toEqual([textOf(unknown), headersOf(unknown)])
        }
      }
    },
  )

  test("a full hash of another's run finds nothing", async () => {
    const [run] = listAt((await known(owner).get("/runs?limit=1")).body, "runs")
    const { manifest_hash } = run as { readonly manifest_hash: string }
    const search = `/runs/search?manifest_hash=${manifest_hash}`
    expect(numberAt((await known(owner).get(search)).body, "total")).toBe(1)
    expect(numberAt((await known(other).get(search)).body, "total")).toBe(0)
  })

  const ownArtifact = (name: CaseName): string => OUTCOMES[STATE_OF[name]].artifact?.path ?? "none"
})
