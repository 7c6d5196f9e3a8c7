// SPDX-License-Identifier: Apache-2.0
// `merlonctl diff` between two revisions of a repository with ten thousand policies in as many files, one of them
// changed. Measures the whole process as its user experiences it, with its CPU time and peak memory.

import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface RevisionsCost {
  readonly documents: number
  readonly milliseconds: number
  readonly mebibytes: number
  readonly result: string
}

const NAMESPACES = 200
const PROGRAM = join(import.meta.dirname, "../../packages/cli/bin/merlonctl.js")
/** Prints the resource usage of the process on the last line of its standard error. */
const REPORT = "data:text/javascript,process.on('exit',()=>console.error(JSON.stringify(process.resourceUsage())))"

export function revisionsCost(documents: number): RevisionsCost {
  const folder = mkdtempSync(join(tmpdir(), "merlon-bench-"))
  try {
    makeRepository(folder, documents)
    const args = ["diff", "--from", "HEAD~1:", "--to", "HEAD:", "--workloads", "workloads.json", "-o", "json"]
    const { stdout, stderr } = spawnSync(process.execPath, ["--import", REPORT, PROGRAM, ...args], {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 64 << 20,
    })
    const used: NodeJS.ResourceUsage = JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "")
    const { result, changes, read } = JSON.parse(stdout)
    return {
      documents,
      milliseconds: Math.round((used.userCPUTime + used.systemCPUTime) / 1_000),
      mebibytes: Math.round(used.maxRSS / 1_024),
      result: `${result}, ${changes.length} change, ${read.policies} policies`,
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function makeRepository(folder: string, documents: number): void {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=bench", "-c", "user.email=bench@example.com", ...args], { cwd: folder })
  git("init", "--quiet")
  for (let n = 0; n < NAMESPACES; n++) mkdirSync(join(folder, `ns-${n}`))
  for (let n = 0; n < documents; n++) write(folder, n, "GET")
  const pods = Array.from({ length: NAMESPACES }, (_, n) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `w${n}`, namespace: `ns-${n}`, labels: { app: `a${n}` } },
    spec: { containers: [{ name: "app", ports: [{ containerPort: 8080 }] }] },
  }))
  writeFileSync(join(folder, "workloads.json"), JSON.stringify({ apiVersion: "v1", kind: "List", items: pods }))
  git("add", "--all")
  git("commit", "--quiet", "--message", "before")
  write(folder, 7, "GET, POST")
  git("commit", "--quiet", "--all", "--message", "after")
}

function write(folder: string, n: number, methods: string): void {
  const namespace = `ns-${n % NAMESPACES}`
  const text = `apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata:
  name: p${n}
  namespace: ${namespace}
spec:
  selector:
    matchLabels:
      app: a${n}
  rules:
  - from:
    - source:
        principals: [cluster.local/ns/${namespace}/sa/s${n}]
    to:
    - operation:
        methods: [${methods}]
        paths: [/v1/${n}/*]
`
  writeFileSync(join(folder, namespace, `p${n}.yaml`), text)
}
