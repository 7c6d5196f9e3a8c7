// SPDX-License-Identifier: Apache-2.0
// `merlonctl workload`: manages workloads that no orchestrator runs. An administrator declares them, so that no workload
// chooses its own labels.

import { Command, Option } from "commander"
import { address, duration } from "../../arguments.js"
import { pathOf } from "../api/path.js"
import type { AnyObject } from "../catalog/resource.js"
import { withSession } from "../connect.js"
import { CommandError } from "../exit.js"
import { type ClusterFlags, type OutputFormat, outputOption, withClusterFlags } from "../flags.js"
import { textOf } from "../foreign.js"
import { notFound } from "../lookup/not-found.js"
import { Columns } from "../output/columns.js"
import { formatObject, formatObjects, withoutManagedFields } from "../output/objects.js"
import { readText } from "../read-text.js"
import type { Session } from "../session.js"
import { paint, print, printError, visible } from "../terminal.js"
import { age } from "../workload/age.js"
import { bootstrapText, type ProxyPlace, prepareFolder, writeBootstrap } from "../workload/bootstrap-files.js"
import { type DeclaredPort, type DeclaredWorkload, isDeclared, readDeclared } from "../workload/declared-pod.js"
import {
  boundToken,
  checkNamespace,
  ensurePod,
  ensureServiceAccount,
  getOrNothing,
  PODS,
  rootCertificate,
} from "../workload/enrol.js"
import { ownPlace } from "../workload/own-address.js"
import { declaredPort, labels } from "../workload/parse-flags.js"

export function workloadCommand(): Command {
  return new Command("workload")
    .description("Declare workloads that run outside Kubernetes")
    .addCommand(addCommand())
    .addCommand(listCommand())
    .addCommand(removeCommand())
}

interface AddFlags extends ClusterFlags, ProxyPlace {
  readonly labels: { readonly [name: string]: string }
  readonly port: readonly DeclaredPort[]
  readonly serviceAccount: string
  readonly out?: string
  readonly ttl: number
  readonly trustBundle?: string
  readonly output?: OutputFormat
}

/** The shortest lifetime that Kubernetes grants. */
const MIN_TTL_MS = 600_000

function addCommand(): Command {
  return withClusterFlags(
    new Command("add")
      .description("Declare a workload and write the files that its proxy starts from. Run it again for a new token")
      .argument("<name>", "name of the workload")
      .option("--labels <labels>", "labels, as app=web,version=v1", labels, {})
      .option("--port <port>", "port of the application, as 8080 or 8080/http (repeatable)", declaredPort, [])
      .option("--service-account <name>", "service account, which is its identity; created if missing", "default")
      .option("--out <folder>", "output folder (default: ./NAME)")
      .addOption(
        new Option("--control-plane <host:port>", "address at which its proxy reaches the control plane")
          .env("MERLON_CONTROL_PLANE")
          .argParser(hostAndPort)
          .default("127.0.0.1:15012"),
      )
      .option("--server-name <name>", "name in the control plane's certificate (default: that of its Service)")
      .option("--trust-bundle <file>", "root certificates (default: those the mesh publishes)")
      .option("--address <ip>", "address at which others reach the workload (default: the one its proxy calls from)")
      .option("--listen <ip>", "address its proxy listens on (default: all)")
      .option("--application <ip>", "address of the application (default: 127.0.0.1)")
      .option("--ttl <time>", "lifetime of the token, at least 10m", duration, 86_400_000)
      .addOption(outputOption(["json", "yaml", "name"])),
  )
    .addHelpText("after", ADD_EXAMPLES)
    .action((name: string, flags: AddFlags) => withSession(flags, session => add(session, name, flags)))
}

const ADD_EXAMPLES = `
Example:
  merlonctl workload add httpbin-1 -n foo --labels app=httpbin --port 8080/http
  merlond xserver --bootstrap httpbin-1/bootstrap.yaml`

async function add(session: Session, name: string, flags: AddFlags): Promise<void> {
  const { namespace } = session
  const { serviceAccount, ttl } = flags
  if (ttl < MIN_TTL_MS)
    throw new CommandError("usage", "a token is good for 10 minutes at least; write `--ttl 10m` or more")
  const declaration = { name, namespace, labels: flags.labels, ports: flags.port, serviceAccount }
  await checkNamespace(session, namespace)
  const trustBundle =
    flags.trustBundle === undefined
      ? await rootCertificate(session, namespace)
      : await readText(flags.trustBundle, "the root certificates")
  const folder = flags.out ?? name
  prepareFolder(folder)
  if (await ensureServiceAccount(session, namespace, serviceAccount))
    printError(`serviceaccount/${serviceAccount} created`)
  const { change, pod } = await ensurePod(session, declaration)
  const { token, expires } = await boundToken(session, pod, declaration, Math.floor(ttl / 1000))
  const place = ownPlace(flags, textOf(pod.metadata.uid) ?? name)
  const file = writeBootstrap(folder, bootstrapText(declaration, place, session.names), token, trustBundle)
  if (flags.output === "name") return print(`pod/${name}`)
  if (flags.output === "json" || flags.output === "yaml") {
    return print(formatObject(flags.output, { name, namespace, change, bootstrap: file, tokenExpires: expires }))
  }
  print(`workload/${name} ${change}`)
  printError(`the token is good until ${expires}; the same command makes a new one`)
  if (flags.port.length === 0) printError("no `--port` was given: nothing of it can be called")
  printError(`next: \`merlond xserver --bootstrap ${file}\``)
}

interface ListFlags extends ClusterFlags {
  readonly allNamespaces: boolean
  readonly selector?: string
  readonly output?: OutputFormat
}

function listCommand(): Command {
  return withClusterFlags(
    new Command("list")
      .description("Show declared workloads")
      .option("-A, --all-namespaces", "query all namespaces", false)
      .option("-l, --selector <labels>", "filter by labels")
      .addOption(outputOption(["json", "yaml", "wide", "name"])),
  ).action((flags: ListFlags) => withSession(flags, session => list(session, flags)))
}

async function list(session: Session, flags: ListFlags): Promise<void> {
  const namespace = flags.allNamespaces ? undefined : session.namespace
  const path = pathOf(PODS, { namespace }, { labelSelector: flags.selector })
  const { items } = (await session.api.request({ method: "GET", path })) as { items?: AnyObject[] | null } // from the server
  const pods = (items ?? [])
    .map(item => ({ ...item, apiVersion: "v1", kind: "Pod" }))
    .filter(pod => isDeclared(pod, session.names))
  if (flags.output === "json" || flags.output === "yaml") {
    return print(formatObjects(flags.output, pods.map(withoutManagedFields), false))
  }
  if (pods.length === 0) {
    printError(namespace === undefined ? "No workloads declared" : `No workloads declared in ${namespace} namespace.`)
  } else if (flags.output === "name") print(pods.map(({ metadata }) => `pod/${metadata.name}\n`).join(""))
  else
    print(
      formatWorkloads(
        pods.map(pod => readDeclared(pod, session.names)),
        flags,
        Date.now(),
      ),
    )
}

function formatWorkloads(workloads: readonly DeclaredWorkload[], flags: ListFlags, now: number): string {
  const wide = flags.output === "wide"
  const row = (
    cells: readonly [string, ...string[]],
    namespace: string,
    more: readonly string[],
  ): readonly string[] => [...(flags.allNamespaces ? [namespace] : []), ...cells, ...(wide ? more : [])]
  const header = row(["NAME", "READY", "ADDRESS", "PORTS", "AGE"], "NAMESPACE", ["SERVICE-ACCOUNT", "LABELS"])
  const rows = workloads.map(({ namespace, name, ready, address: at, ports, created, serviceAccount, labels: tags }) =>
    row(
      [name, ready ? "yes" : "no", at || "<none>", ports || "<none>", age(created, now)].map(visible) as [string],
      visible(namespace),
      [serviceAccount, tags || "<none>"].map(visible),
    ),
  )
  const [head = "", ...body] = new Columns().format([header, ...rows]).split(/(?<=\n)/)
  return `${paint.bold(head.trimEnd())}\n${body.join("")}`
}

interface RemoveFlags extends ClusterFlags {
  readonly ignoreNotFound: boolean
  readonly output?: OutputFormat
}

function removeCommand(): Command {
  return withClusterFlags(
    new Command("remove")
      .description("Remove a declared workload and revoke its token")
      .argument("<name>", "name of the workload")
      .option("--ignore-not-found", "ignore objects that do not exist", false)
      .addOption(outputOption(["name"])),
  ).action((name: string, flags: RemoveFlags) => withSession(flags, session => remove(session, name, flags)))
}

async function remove(session: Session, name: string, flags: RemoveFlags): Promise<void> {
  const { namespace } = session
  const pod = await getOrNothing(session, PODS, name, namespace)
  if (pod === undefined) {
    if (flags.ignoreNotFound) return
    throw await notFound(session, PODS, name, namespace)
  }
  // Fail closed: Pods of an orchestrator must not be removed here.
  if (!isDeclared(pod, session.names)) {
    throw new CommandError(
      "name-taken",
      `\`${name}\` in \`${namespace}\` is a Pod that something runs; \`merlonctl delete pod ${name}\` removes it`,
    )
  }
  const body = { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } }
  await session.api.request({ method: "DELETE", path: pathOf(PODS, { namespace, name }), body })
  print(flags.output === "name" ? `pod/${name}` : `workload "${name}" removed`)
}

function hostAndPort(text: string): string {
  address(text)
  return text
}
