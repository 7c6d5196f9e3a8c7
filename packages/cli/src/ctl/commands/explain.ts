// SPDX-License-Identifier: Apache-2.0
// `merlonctl explain`: why a request is, or would be, allowed or denied by the policies in files or in the cluster. The request comes
// from flags, a curl command or a line of an access log; flags override the other two.

import { type ProofWorkload, workloadsCalled } from "@merlon/policy/proof"
import { type KeySetLookup, parseKeySet } from "@merlon/policy/tokens"
import { type DescribedRequest, RequestDescriptionError, readCurl, readLogLine } from "@merlon/policy/trial"
import { Command, Option } from "commander"
import { several, whole } from "../../arguments.js"
import { inputLines, isComplete } from "../answers/inputs.js"
import { principalOf } from "../answers/principal.js"
import { type MeshSettings, withMeshSettings } from "../answers/question-flags.js"
import { note, questionSource, workloadNamed } from "../answers/question-source.js"
import { withSession } from "../connect.js"
import { CommandError, EXIT, usageError } from "../exit.js"
import { explanationOf } from "../explain/explanation.js"
import { explanationText } from "../explain/format.js"
import { unlikeLog } from "../explain/logged.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import { keySetText } from "../jwt/key-set-text.js"
import { explainDecision } from "../observed/explain-decision.js"
import { standardInput } from "../read-text.js"
import { print } from "../terminal.js"

interface Flags extends ClusterFlags, MeshSettings {
  readonly filename: readonly string[]
  readonly label: readonly string[]
  readonly service: readonly string[]
  readonly curl?: string
  readonly log?: string
  readonly from?: string
  readonly ip?: string
  readonly destinationIp?: string
  readonly sni?: string
  readonly port?: number
  readonly method?: string
  readonly path?: string
  readonly host?: string
  readonly header: readonly string[]
  readonly token?: string
  readonly claim: readonly string[]
  readonly jwks?: string
  readonly tcp: boolean
  readonly output: "text" | "json"
}

export function explainCommand(): Command {
  return withMeshSettings(
    withClusterFlags(
      new Command("explain")
        .description("Explain why a request is allowed or denied")
        .argument(
          "<id|workload>",
          "decision id from the header x-merlon-decision of a denied response; or a workload, as NAMESPACE/NAME or NAME with -n",
        )
        .option(
          "-f, --filename <path>",
          "read policies and workloads from files instead of the cluster (repeatable)",
          several,
          [],
        )
        .option("-l, --label <key=value>", "label of the workload, if no file defines it (repeatable)", several, [])
        .option("--service <name>", "Service of the workload, if no file defines it (repeatable)", several, [])
        .option("--curl <line>", "the request as a curl command line; - for standard input")
        .option(
          "--log <line>",
          "the request as a line of an access log: ours (JSON) or Envoy's as Istio writes it; - for standard input",
        )
        .option(
          "--from <identity>",
          "identity of the caller, as ns/foo/sa/sleep, foo/sleep, or with its trust domain (default: plaintext)",
        )
        .option("--ip <address>", "address of the caller")
        .option("--destination-ip <address>", "address of the workload")
        .option("--sni <name>", "server name in the caller's TLS handshake")
        .addOption(new Option("--port <number>", "port of the workload").argParser(whole(1, 65_535)))
        .option("--method <method>", "method (default: GET)")
        .option("--path <path>", "path, with its query")
        .option("--host <host>", "host as the caller sends it")
        .option("-H, --header <line>", "`Name: value` (repeatable)", several, [])
        .option("--token <token>", "a token, verified with the keys in the files or in --jwks")
        .option("--claim <name=value>", "claim of a valid token (repeatable)", several, [])
        .option("--jwks <file>", "the issuer's keys if a rule fetches them, file or URL")
        .option("--tcp", "evaluate a TCP connection instead of a request", false)
        .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text")),
    ),
  )
    .addHelpText("after", EXAMPLES)
    .action(explain)
}

const EXAMPLES = `
Exit codes: 0 allowed, 5 denied, 4 a policy or workload was skipped, or the provider of a CUSTOM policy decides.

Examples:
  merlonctl explain 3f1c9a2e7b604d58c1aa        # the id in the header x-merlon-decision of a denied response
  merlonctl explain foo/httpbin --from cluster.local/ns/app/sa/consumer --path /get
  merlonctl explain httpbin -n foo --path /get
  merlonctl explain foo/httpbin -l app=httpbin -f policies --method DELETE --path /admin
  merlonctl explain foo/httpbin -f policies -f pods.yaml --curl "curl -H 'x-tier: gold' http://httpbin.foo/get"
  merlonctl explain foo/httpbin -l app=httpbin -f policies --claim iss=https://issuer.example --claim sub=alice`

/** The format of the ids that proxies create. */
const DECISION_ID = /^[0-9a-f]{20}$/i
/** Probably meant as a decision id: hexadecimal digits, truncated or with extra ones. */
const LIKE_DECISION_ID = /^(?=.*\d)[0-9a-f]{8,}$/i

async function explain(word: string, flags: Flags): Promise<void> {
  if (DECISION_ID.test(word)) {
    return withSession(flags, session => explainDecision(session, word.toLowerCase(), flags))
  }
  if (LIKE_DECISION_ID.test(word) && flags.namespace === undefined) {
    throw usageError(
      `\`${word}\` is not a decision id: an id has 20 hexadecimal digits, this has ${word.length}; copy it from the header \`x-merlon-decision\` of the denied response, or list ids with \`merlonctl decisions -A\``,
    )
  }
  const workload = word.includes("/") || flags.namespace === undefined ? word : `${flags.namespace}/${word}`
  const [namespace, name, ...more] = workload.split("/")
  if (namespace === undefined || name === undefined || more.length > 0 || name === "") {
    throw usageError(
      `\`${workload}\` names no workload and no decision; pass a workload as \`NAMESPACE/NAME\` or \`NAME -n NAMESPACE\`, or the decision id in the header \`x-merlon-decision\` of a denied response (20 hexadecimal digits)`,
    )
  }
  // With files, flags describe a workload that the files do not contain.
  const described = (workloads: readonly ProofWorkload[]): ProofWorkload => {
    const isThere = flags.filename.length === 0 || workloadsCalled(workload, workloads, undefined).length > 0
    const known = isThere ? workloadNamed(workload, workloads, undefined) : undefined
    return {
      ...known,
      namespace,
      name: known?.name ?? name,
      labels: { ...known?.labels, ...labelsOf(flags.label) },
      services: [...(known?.services ?? []), ...flags.service],
    }
  }
  const about = (workloads: readonly ProofWorkload[]) => [described(workloads)]
  const { policies, workloads, mesh, read } = await questionSource({ ...flags, namespace }, "policies", about)
  const { ports, ...called } = described(workloads)
  const log = flags.log === "-" ? (await standardInput()).trim() : flags.log
  const request = await requestFromFlags({ ...flags, ...(log === undefined ? {} : { log }) }, mesh.trustDomain)
  if (called.gateway?.isWaypoint === false && request.from !== undefined)
    throw usageError(`a gateway sees no identity of the mesh; leave out \`--from\` for \`${word}\``)
  const question = {
    documents: policies,
    workload: called,
    mesh,
    asked: { ...(ports?.[0] === undefined ? {} : { port: ports[0] }), ...request },
    now: Math.floor(Date.now() / 1000),
    keys: typeof request.token === "object" ? undefined : await keysOf(flags.jwks),
  }
  try {
    const explanation = explanationOf(question)
    const unlike = log === undefined ? undefined : unlikeLog(log, explanation)
    if (unlike !== undefined) note(unlike)
    print(
      flags.output === "json" ? JSON.stringify({ ...explanation, read }, undefined, 2) : explanationText(explanation),
    )
    if (!isComplete(read)) for (const line of inputLines(read)) note(line)
    // Without all policies, the verdict may differ from the enforced one.
    const code = { allow: EXIT.ok, deny: EXIT.found, depends: EXIT.undecided }[explanation.verdict]
    process.exitCode = isComplete(read) ? code : EXIT.undecided
  } catch (error) {
    throw error instanceof RequestDescriptionError ? new CommandError("unreadable-file", error.message) : error
  }
}

async function requestFromFlags(flags: Flags, trustDomain: string): Promise<DescribedRequest> {
  const { curl, log, from, ip, destinationIp, sni, port, method, path, host, token, tcp } = flags
  const base = curl !== undefined ? await read(readCurl, curl) : log !== undefined ? await read(readLogLine, log) : {}
  const fromFlags = {
    from: from === undefined ? undefined : principalOf(from, trustDomain),
    ip,
    destinationIp,
    sni,
    port,
    method,
    path,
    host,
    token,
  }
  return {
    ...base,
    ...Object.fromEntries(Object.entries(fromFlags).filter(([, value]) => value !== undefined)),
    ...(tcp ? { protocol: "tcp" as const } : {}),
    ...(flags.header.length > 0 ? { headers: { ...base.headers, ...headersOf(flags.header) } } : {}),
    ...(flags.claim.length > 0 ? { token: { claims: claimsOf(flags.claim) } } : {}),
  }
}

async function read(reader: (line: string) => DescribedRequest, line: string): Promise<DescribedRequest> {
  try {
    return reader(line === "-" ? (await standardInput()).trim() : line)
  } catch (error) {
    throw error instanceof RequestDescriptionError ? usageError(error.message) : error
  }
}

function labelsOf(labels: readonly string[]): Record<string, string> {
  return Object.fromEntries(labels.map(label => pairOf(label, "=", "-l app=web")))
}

function headersOf(lines: readonly string[]): Record<string, string[]> {
  const headers = new Map<string, string[]>()
  for (const line of lines) {
    const [name, value] = pairOf(line, ":", "-H 'x-tier: gold'")
    const key = name.toLowerCase()
    headers.set(key, [...(headers.get(key) ?? []), value.trim()])
  }
  return Object.fromEntries(headers)
}

/** Reads JSON if it is valid JSON, else text, like `jwt mint`. */
function claimsOf(claims: readonly string[]) {
  return Object.fromEntries(
    claims.map(claim => {
      const [name, value] = pairOf(claim, "=", "--claim sub=alice")
      try {
        return [name, JSON.parse(value)]
      } catch {
        return [name, value]
      }
    }),
  )
}

function pairOf(text: string, separator: string, example: string): readonly [string, string] {
  const at = text.indexOf(separator)
  if (at <= 0) throw usageError(`\`${text}\` has no \`${separator}\`; write it as \`${example}\``)
  return [text.slice(0, at), text.slice(at + 1)]
}

async function keysOf(file: string | undefined): Promise<KeySetLookup> {
  if (file === undefined) return () => undefined
  const result = parseKeySet(await keySetText(file))
  if (!result.ok) throw new CommandError("unreadable-file", `\`${file}\`: ${result.error.message}`)
  return () => result.keySet
}
