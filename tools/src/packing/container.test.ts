/**
 * Checks the Dockerfile, compose.yaml and deploy/kubernetes.yaml without a container engine: versions, users, writable folders. No image is
 * built here.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { SECRET_VARIABLES } from "@runseal/server/options/secrets"
import { OPTION_ROWS } from "@runseal/server/options/table"
import { describe, expect, test } from "vitest"
import { parse, parseAllDocuments } from "yaml"
import { isInstalled, nameAt, ROOT, readLockfile, runtimePlaces, SHIPPED_FILES_OF } from "../supply-chain/lockfile.ts"

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8")
const rootManifest = JSON.parse(read("package.json"))

describe("the Dockerfile", () => {
  const lines = read("Dockerfile").replaceAll("\\\n", " ").split("\n")
  const all = (instruction: string): readonly string[] =>
    lines.flatMap(line => (line.startsWith(`${instruction} `) ? [line.slice(instruction.length + 1).trim()] : []))
  const last = (instruction: string): string | undefined => all(instruction).at(-1)

  test("stands on the Node the repository pins, one exact version for every stage", () => {
    expect(all("ARG")[0]).toBe(`NODE_IMAGE=node:${rootManifest.devDependencies.node}-bookworm-slim`)
    for (const stage of all("FROM")) expect(stage).toMatch(/^\$\{NODE_IMAGE\}(?: AS \w+)?$/)
  })

  test("installs what the lock file names, and scripts of packages run only where it is built", () => {
    const installs = all("RUN").flatMap(line => line.match(/npm (?:ci|install|i)\b[^&]*/g) ?? [])
    expect(installs.map(words => words.trim())).toEqual([
      "npm ci",
      "npm ci --omit=dev --ignore-scripts --workspace @runseal/server",
    ])
  })

  test("holds nothing of a package whose files come with the server, nor what that one would install besides", () => {
    const removed = (/rm -rf (node_modules[^&]+)/.exec(all("RUN").join("\n"))?.[1] ?? "").trim().split(/\s+/)
    const lockfile = readLockfile()
    const needed = runtimePlaces(lockfile, "apps/server").filter(place => !SHIPPED_FILES_OF.includes(nameAt(place)))
    const idle = runtimePlaces(lockfile, "apps/server", []).filter(
      place => isInstalled(place) && !needed.includes(place),
    )
    expect(idle).toEqual(expect.arrayContaining(["node_modules/swagger-ui-dist", "node_modules/@scarf/scarf"]))
    for (const place of idle) expect(removed).toContain(place)
    for (const place of needed) expect(removed).not.toContain(place)
  })

  test("runs as a user by number, who is not root and owns the data folder alone", () => {
    expect(last("USER")).toBe("1000:1000")
    expect(all("RUN").join()).toContain(`install -d -o 1000 -g 1000 -m 0700 ${last("VOLUME")}`)
    expect(last("ENV")).toContain(`RUNSEAL_DATA_DIR=${last("VOLUME")}`)
  })

  test("starts the service itself, so that it gets the signal to stop, and asks it whether it lives", () => {
    expect(last("ENTRYPOINT")).toBe('["node", "/app/bin/runseal-server.js"]')
    expect(last("STOPSIGNAL")).toBe("SIGTERM")
    expect(last("HEALTHCHECK")).toContain("/health")
  })

  test("holds no secret: none is an argument or a variable of it", () => {
    expect([...all("ARG"), ...all("ENV")].join("\n")).not.toMatch(/DATABASE_URL|API_KEY|PASSWORD|SECRET|TOKEN/)
  })
})

test("nothing installed, built, stored or secret is sent to the builder", () => {
  const ignored = read(".dockerignore").split("\n")
  expect(ignored).toEqual(expect.arrayContaining(["**/node_modules", "**/dist", ".git", "data", "secrets"]))
})

type Service = Readonly<Record<string, unknown>> & {
  readonly image: string
  readonly environment: Readonly<Record<string, string>>
  readonly volumes: readonly string[]
  readonly networks: readonly string[]
  readonly ports?: readonly string[]
}
type Compose = {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>
  readonly volumes: object
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

describe("compose.yaml", () => {
  const compose: Compose = parse(read("compose.yaml"))
  const { server, postgres } = compose.services

  test.each(Object.entries(compose.services))(
    "%s: one version, no root, nothing to write but its volumes",
    (_, one) => {
      expect(one.image).toMatch(/^[a-z/]+:\d+\.\d+/)
      expect(one).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] })
      expect(one).toHaveProperty("stop_grace_period")
      expect(one).not.toHaveProperty("privileged")
      for (const volume of one.volumes) expect(Object.keys(compose.volumes)).toContain(volume.split(":")[0])
    },
  )

  test("the image is this release's", () => {
    expect(server?.image).toBe(`runseal/server:${rootManifest.version}`)
  })

  test("the log has no default name", () => {
    expect(server?.environment.RUNSEAL_LOG_ORIGIN).toMatch(/^\$\{RUNSEAL_LOG_ORIGIN:\?/)
  })

  test("secrets are files, and no variable holds one", () => {
    for (const { environment } of Object.values(compose.services))
      for (const [name, value] of Object.entries(environment))
        if (/DATABASE_URL|PASSWORD|API_KEY/.test(name))
          expect([name, value]).toEqual([expect.stringMatching(/_FILE$/), expect.stringMatching(/^\/run\/secrets\//)])
    for (const { file } of Object.values(compose.secrets)) expect(file).toMatch(/^\.\/secrets\//)
  })

  test("the server waits for a database that answers, which nobody else reaches", () => {
    expect(server).toMatchObject({ depends_on: { postgres: { condition: "service_healthy" } } })
    expect(postgres).toHaveProperty("healthcheck")
    expect(postgres).toHaveProperty("user", "999:999")
    expect(postgres?.networks.map(name => compose.networks[name]?.internal)).toEqual([true])
    expect(postgres).not.toHaveProperty("ports")
  })

  test("the service is offered to this machine alone", () => {
    expect(server?.ports).toEqual(["127.0.0.1:8080:8080"])
  })
})

/** What is read of an object of Kubernetes. */
type KubernetesObject = {
  readonly kind: string
  readonly spec: Readonly<Record<string, unknown>>
}
type PodSpec = Readonly<Record<string, unknown>> & {
  readonly containers: readonly Readonly<Record<string, unknown>>[]
}

const COMPOSE_FILES = ["compose.yaml", "deploy/compose.patroni.yaml", "deploy/compose.pgbouncer.yaml"]

test.each(COMPOSE_FILES)("%s: no service has capabilities or a file system to write to", path => {
  const { services }: Pick<Compose, "services"> = parse(read(path), { merge: true })
  // The server of a file that is laid over another has only what it adds there.
  const whole = Object.values(services).filter(({ image }) => image !== undefined)
  expect(whole.length).toBeGreaterThan(0)
  for (const one of whole)
    expect(one).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] })
})

test.each(["deploy/kubernetes-patroni.yaml", "deploy/kubernetes-pgbouncer.yaml"])(
  "%s: no pod has root, capabilities or a file system to write to",
  path => {
    const objects: readonly KubernetesObject[] = parseAllDocuments(read(path)).map(one => one.toJS())
    const pods = objects
      .filter(({ kind }) => kind === "StatefulSet" || kind === "Deployment")
      .map(({ spec }): PodSpec => Object(spec.template).spec)
    expect(pods.length).toBeGreaterThan(0)
    for (const pod of pods) {
      expect(pod).toMatchObject({ automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } })
      for (const { securityContext, image } of pod.containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        })
        expect(image).toMatch(new RegExp(`:${rootManifest.version}$`))
      }
    }
  },
)

test("deploy/patroni makes a cluster whose commits wait for a standby", () => {
  const { bootstrap } = parse(read("deploy/patroni/patroni.yml"))
  expect(bootstrap.dcs).toMatchObject({ synchronous_mode: true, synchronous_mode_strict: true })
  const { ttl, loop_wait, retry_timeout } = bootstrap.dcs
  expect(ttl).toBeGreaterThanOrEqual(Math.max(20, loop_wait + 2 * retry_timeout))
})

describe("deploy/kubernetes.yaml", () => {
  const objects: readonly KubernetesObject[] = parseAllDocuments(read("deploy/kubernetes.yaml")).map(one => one.toJS())
  const specOf = (kind: string): Readonly<Record<string, unknown>> => objects.find(one => one.kind === kind)?.spec ?? {}
  const { replicas, template } = specOf("Deployment")
  const pod: PodSpec = Object(template).spec
  const [server] = pod.containers

  test("has several processes, of which a node that is drained leaves all but one", () => {
    expect(replicas).toBeGreaterThan(1)
    expect(specOf("PodDisruptionBudget")).toMatchObject({ minAvailable: Number(replicas) - 1 })
  })

  test("runs without root, capabilities or a file system to write to, and knows nothing of the cluster", () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
    })
    expect(server?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    })
  })

  test("lets no group read the keys, which the service would refuse", () => {
    expect(JSON.stringify(pod)).not.toContain("fsGroup")
  })

  test("shares one keys folder that all may write", () => {
    expect(specOf("PersistentVolumeClaim")).toMatchObject({ accessModes: ["ReadWriteMany"] })
  })

  test("asks /ready before it sends requests and /health before it restarts", () => {
    expect(server).toMatchObject({
      image: expect.stringMatching(new RegExp(`:${rootManifest.version}$`)),
      startupProbe: { httpGet: { path: "/health" } },
      livenessProbe: { httpGet: { path: "/health" } },
      readinessProbe: { httpGet: { path: "/ready" } },
    })
  })

  test("names only variables that the service has", () => {
    const known = [...OPTION_ROWS.map(({ variable }) => variable), ...SECRET_VARIABLES]
    const env: readonly { readonly name: string }[] = Array.isArray(server?.env) ? server.env : []
    expect(env.length).toBeGreaterThan(3)
    for (const { name } of env) expect(known).toContain(name.replace(/_FILE$/, ""))
  })
})
