#!/usr/bin/env node
// CommonJS, here and in the built file: Node starts it some milliseconds sooner than a module.
const { hash } = require("node:crypto")
const {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} = require("node:fs")
const { homedir } = require("node:os")
const { dirname, join } = require("node:path")
const { pathToFileURL } = require("node:url")
const { Script } = require("node:vm")

const home = join(__dirname, "..")
const built = join(home, "dist/verifier.cjs")
const stamp = join(home, "dist/sources.json")
const source = join(home, "src/main.ts")

/**
 * Whether the built file says what its sources say now: it was made of exactly these files (build/make-verifier.node.ts).
 * A published package has no sources beside it, and its built file is the verifier. Whatever cannot be read is not fresh.
 */
function isFresh() {
  if (!existsSync(source)) return existsSync(built)
  try {
    const { sources, sources_digest, built_digest } = JSON.parse(readFileSync(stamp, "utf8"))
    const found = sources.map(path => `${digestOf(join(home, path))} ${path}\n`).join("")
    return hash("sha256", found) === sources_digest && digestOf(built) === built_digest
  } catch {
    return false
  }
}

/** @param {string} path */
const digestOf = path => hash("sha256", readFileSync(path))

/** Runs whose compiled functions are kept: what later ones compile anew is little, and writing it costs each some milliseconds. */
const KEEPING_RUNS = 8
const DIGEST_BYTES = 32
/** Write permission of group and others. */
const WRITABLE_BY_OTHERS = 0o022

/**
 * Runs the built file with the functions that earlier runs compiled. Node's own cache of compiled code holds a file as it is
 * right after loading, when most of its functions are not compiled yet; to compile them takes longer than to run them once.
 */
function runBuilt() {
  const code = readFileSync(built)
  const place = placeOfCompiled()
  const kept = place === undefined ? undefined : readCompiled(place, code)
  const wrapped = `(function (require, module, exports) {${code}\n})`
  const script = new Script(wrapped, { filename: built, cachedData: kept?.compiled })
  const runs = kept === undefined || script.cachedDataRejected ? 0 : kept.runs
  const named = process.argv.slice(2).some(word => !word.startsWith("-"))
  if (place !== undefined && named && runs < KEEPING_RUNS)
    process.on("exit", exit => {
      if (exit !== 2) keepCompiled(place, code, script.createCachedData(), runs + 1)
    })
  script.runInThisContext()(require, module, exports)
}

/**
 * One file for each version of Node, which alone can use it. Undefined without a home, and where others could put a file of this
 * user's, such as one that was sent to him, in its place: then nothing is kept.
 */
function placeOfCompiled() {
  try {
    const caches = process.env.XDG_CACHE_HOME || join(homedir(), ".cache")
    const ours = join(caches, "runseal")
    const folder = join(ours, "verifier")
    return [ours, folder].every(isOwnFolder) ? join(folder, `${process.version}-${process.arch}.code`) : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether a folder is this user's own and nobody else can write it; so will one be that is not there yet.
 * @param {string} path
 */
function isOwnFolder(path) {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found === undefined || (found.isDirectory() && isOwn(found))
}

/** @param {import("node:fs").Stats} found */
const isOwn = ({ uid, mode }) =>
  process.geteuid === undefined || (uid === process.geteuid() && (mode & WRITABLE_BY_OTHERS) === 0)

/**
 * What is kept: a SHA-256 over the built file and all that follows, the number of runs, the code as V8 writes it. Who can
 * replace it decides what the verifier says, so it is used only when it is this user's own and nobody else can write it.
 * @param {string} place
 * @param {Buffer} code
 */
function readCompiled(place, code) {
  try {
    const file = openSync(place, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
    try {
      if (!isOwn(fstatSync(file))) return
      const bytes = readFileSync(file)
      const content = bytes.subarray(DIGEST_BYTES)
      if (!bytes.subarray(0, DIGEST_BYTES).equals(digestWith(code, content))) return
      return { runs: content[0] ?? 0, compiled: content.subarray(1) }
    } finally {
      closeSync(file)
    }
  } catch {
    // There is none yet: only slower.
  }
}

/**
 * @param {string} place
 * @param {Buffer} code
 * @param {Buffer} compiled
 * @param {number} runs
 */
function keepCompiled(place, code, compiled, runs) {
  try {
    const content = Buffer.concat([Buffer.of(runs), compiled])
    mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
    const waiting = `${place}.${process.pid}`
    writeFileSync(waiting, Buffer.concat([digestWith(code, content), content]), { mode: 0o600, flag: "wx" })
    renameSync(waiting, place)
  } catch {
    // Only slower.
  }
}

/**
 * @param {Buffer} code
 * @param {Buffer} content
 */
const digestWith = (code, content) => hash("sha256", `${hash("sha256", code)} ${hash("sha256", content)}`, "buffer")

if (isFresh()) runBuilt()
else if (process.features.typescript && existsSync(source)) {
  import(pathToFileURL(source).href).catch(() => {
    process.stderr.write("verifier: the sources could not be loaded; nothing was verified.\n")
    process.exitCode = 2
  })
} else {
  process.stderr.write(
    `verifier: Node ${process.versions.node} cannot run the sources as they are; ` +
      "run `npm run build -w @runseal/verifier`, or use Node 24.\n",
  )
  process.exitCode = 2
}
