#!/usr/bin/env node
// CommonJS, here and in the built file: it starts some milliseconds sooner than a module.
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
 * Whether the built file may run. A published package has no sources beside it, and its built file is always fresh; in a checkout it is
 * when it was made of the present sources, and where that is not known it is not.
 */
function isFresh() {
  if (!existsSync(source)) return existsSync(built)
  try {
    return require("../../../tools/src/packing/is-fresh.cjs").isFresh(stamp)
  } catch {
    return false
  }
}

/** Runs that update the cache: later ones compile few new functions, and each write costs some milliseconds. */
const CACHING_RUNS = 8
const DIGEST_BYTES = 32
/** Write permission of group and others. */
const WRITABLE_BY_OTHERS = 0o022

/**
 * Runs the built file with a cache of the functions that earlier runs compiled. Node's own compile cache is written right after
 * loading, when most functions are not compiled yet; compiling them takes longer than running them once.
 */
function runBuilt() {
  const code = readFileSync(built)
  const path = cachePath()
  const cached = path === undefined ? undefined : readCache(path, code)
  const wrapped = `(function (require, module, exports, __filename) {${code}\n})`
  const script = new Script(wrapped, { filename: built, cachedData: cached?.compiled })
  const runs = cached === undefined || script.cachedDataRejected ? 0 : cached.runs
  const named = process.argv.slice(2).some(word => !word.startsWith("-"))
  if (path !== undefined && named && runs < CACHING_RUNS)
    process.on("exit", exit => {
      if (exit !== 2) writeCache(path, code, script.createCachedData(), runs + 1)
    })
  script.runInThisContext()(require, module, exports, built)
}

/**
 * The cache file of this version of Node. Undefined, and nothing is cached, without a home folder and where another user could
 * replace the file.
 */
function cachePath() {
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
 * Whether a folder belongs to this user and only this user can write it; a missing one will be created so.
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
 * The cache file: a SHA-256 over the built file and all that follows, the number of runs, the code as V8 writes it. A process
 * that can replace it decides the verdicts, so it is used only when it is this user's own and no other user can write it.
 * @param {string} path
 * @param {Buffer} code
 */
function readCache(path, code) {
  try {
    const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0))
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
    // No cache yet: slower, and nothing else.
  }
}

/**
 * @param {string} path
 * @param {Buffer} code
 * @param {Buffer} compiled
 * @param {number} runs
 */
function writeCache(path, code, compiled, runs) {
  try {
    const content = Buffer.concat([Buffer.of(runs), compiled])
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const temporary = `${path}.${process.pid}`
    writeFileSync(temporary, Buffer.concat([digestWith(code, content), content]), { mode: 0o600, flag: "wx" })
    renameSync(temporary, path)
  } catch {
    // Without a cache the next run is slower, and nothing else.
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
