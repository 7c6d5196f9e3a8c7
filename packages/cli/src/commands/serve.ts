// SPDX-License-Identifier: Apache-2.0
// `merlond serve`: the control plane, on the configured cluster or with an embedded one.

import { type ProxyResources, proxyResources } from "@merlon/control/admission"
import { HISTORY_ENTRIES } from "@merlon/control/history"
import { PROOF_BUDGET_MS } from "@merlon/control/proofs"
import { PATH_NORMALIZATIONS } from "@merlon/policy/mesh"
import { CONTROL_PLANE_BUFFERS, mapLargeBuffers } from "@merlon/wire/native"
import { OUTBOUND_MODES } from "@merlon/xds"
import { Command, InvalidArgumentError, Option } from "commander"
import { pino } from "pino"
import { duration, endpoint, port, several, trustDomain, whole } from "../arguments.js"
import { applyConfigFile } from "../config-file.js"
import { readEnvSwitches } from "../env-switches.js"
import { logDestination } from "../log-destination.js"
import { addClusterOidc } from "../serve/cluster-oidc.js"
import { withEtcdFlags } from "../serve/etcd-flags.js"
import { type ServeFlags, type Serving, startServing } from "../serve/start-serving.js"
import { DEFAULT_IMAGE } from "../version.js"

const LEVELS = ["fatal", "error", "warn", "info", "debug", "trace"]

export function serveCommand(): Command {
  const option = (flags: string, description: string, env: string): Option =>
    new Option(flags, description).env(`MERLON_${env}`)
  const command = new Command("serve")
    .description("Run the control plane")
    .addOption(option("--config <file>", "YAML with any of these options, in camel case", "CONFIG"))
    .addOption(option("--mesh <word>", "name of the mesh; other names derive from it", "MESH").default("merlon"))
    .addOption(
      option("--domain <domain>", "domain of API groups, labels and annotations", "DOMAIN").default("merlon.dev"),
    )
    .addOption(
      option("--trust-domain <domain>", "trust domain of identities", "TRUST_DOMAIN")
        .argParser(trustDomain)
        .default("cluster.local"),
    )
    .addOption(
      option(
        "--trust-domain-alias <domain>",
        "another trust domain whose identities count as ours; repeatable",
        "TRUST_ALIAS",
      )
        .argParser((text: string, before: readonly string[]) => several(trustDomain(text), before))
        .default([], "none"),
    )
    .addOption(
      option(
        "--path-normalization <how>",
        "how paths are normalized before policies match (default: MERGE_SLASHES; BASE with --mesh istio)",
        "PATH_NORMALIZATION",
      ).choices(PATH_NORMALIZATIONS),
    )
    .addOption(
      option("--num-trusted-proxies <n>", "number of trusted proxies in front, for X-Forwarded-For", "TRUSTED_PROXIES")
        .argParser(whole(0, 100))
        .default(0),
    )
    .addOption(option("--providers <file>", "external authorizers that CUSTOM policies may name, YAML", "PROVIDERS"))
    .addOption(
      option("--cluster-domain <domain>", "suffix of Services' host names", "CLUSTER_DOMAIN").default("cluster.local"),
    )
    // The cluster.
    .addOption(option("--kubeconfig <file>", "cluster to serve (default: KUBECONFIG, or the pod's own)", "KUBECONFIG"))
    .addOption(option("--context <name>", "kubeconfig context to use", "CONTEXT"))
    .addOption(option("--embedded", "start an embedded cluster even if another one is configured", "EMBEDDED"))
    .addOption(
      option("--data <folder>", "store, keys and kubeconfig of the embedded cluster", "DATA").default(".merlon"),
    )
    .addOption(option("--api-listen <host>", "address of the embedded cluster (default: 127.0.0.1)", "API_LISTEN"))
    .addOption(
      option("--api-port <n>", "port of the embedded cluster, 0 for any", "API_PORT").argParser(port).default(7443),
    )
    // Listening.
    .addOption(option("--listen <host>", "address to listen on (default: 127.0.0.1; in a pod every address)", "LISTEN"))
    .addOption(option("--mesh-listen <host>", "address for proxies (default: as --listen)", "MESH_LISTEN"))
    .addOption(
      option("--mesh-port <n>", "port for proxies: xDS and signing", "MESH_PORT").argParser(port).default(15_012),
    )
    .addOption(
      option("--webhook-port <n>", "port of the admission webhooks", "WEBHOOK_PORT").argParser(port).default(15_017),
    )
    .addOption(option("--health-port <n>", "port of health and metrics", "HEALTH_PORT").argParser(port).default(15_014))
    .addOption(
      option("--replica-port <n>", "port for queries of other replicas, 0 for any", "REPLICA_PORT")
        .argParser(port)
        .default(0),
    )
    .addOption(
      option(
        "--replica-address <host>",
        "address at which other replicas reach it (default: as --listen)",
        "REPLICA_ADDRESS",
      ),
    )
    .addOption(option("--console-port <n>", "port of the web console", "CONSOLE_PORT").argParser(port).default(7080))
    .addOption(
      option("--console-host <name>", "host name of the console; repeatable", "CONSOLE_HOST")
        .argParser(several)
        .default([], "this machine's"),
    )
    .addOption(
      option(
        "--console-oidc-issuer <url>",
        "OIDC issuer for sign-in; the cluster must accept its ID tokens",
        "OIDC_ISSUER",
      ),
    )
    .addOption(option("--console-oidc-client-id <id>", "client id of the console at that issuer", "OIDC_CLIENT_ID"))
    .addOption(
      option(
        "--console-oidc-client-secret-file <file>",
        "file with the client secret, if any",
        "OIDC_CLIENT_SECRET_FILE",
      ),
    )
    .addOption(option("--console-oidc-ca-file <file>", "CA of the issuer's server, PEM", "OIDC_CA_FILE"))
    .addOption(
      option(
        "--console-oidc-scope <scope>",
        "scope to request besides openid, such as groups; repeatable",
        "OIDC_SCOPE",
      )
        .argParser(several)
        .default([], "none"),
    )
    .addOption(new Option("--no-console", "do not serve the web console"))
    .addOption(new Option("--no-answers-api", "do not register the answers API in the cluster"))
    .addOption(
      option("--serving-name <name>", "host name or address in our certificates; repeatable", "SERVING_NAME")
        .argParser(several)
        .default([], "the Service's names, localhost and the address"),
    )
    .addOption(option("--replica <name>", "name of this replica (default: host name and process)", "REPLICA"))
    // Certificates and keys.
    .addOption(
      option("--certificate-ttl <time>", "lifetime of workload certificates", "CERTIFICATE_TTL")
        .argParser(duration)
        .default(24 * 3_600_000, "24h"),
    )
    .addOption(
      option("--max-certificate-ttl <time>", "longest lifetime that a workload may request", "MAX_CERTIFICATE_TTL")
        .argParser(duration)
        .default(24 * 3_600_000, "24h"),
    )
    .addOption(
      option("--rotation-settle <time>", "shortest phase of a root rotation", "ROTATION_SETTLE")
        .argParser(duration)
        .default(60_000, "60s"),
    )
    .addOption(
      option("--authority <folder>", "sign with the authority in this folder instead of a generated root", "AUTHORITY"),
    )
    .addOption(option("--jwks-ca <file>", "additional CA of issuers' servers, PEM", "JWKS_CA"))
    .addOption(option("--deny-private-issuers", "do not fetch keys from private addresses", "DENY_PRIVATE_ISSUERS"))
    .addOption(option("--allow-loopback-issuers", "also fetch keys from loopback addresses", "LOOPBACK_ISSUERS"))
    .addOption(
      option("--max-issuers-per-namespace <n>", "most issuers whose keys are fetched for one namespace", "MAX_ISSUERS")
        .argParser(whole(1, 1_000))
        .default(100),
    )
    .addOption(
      option("--proof-budget <ms>", "how long an apply waits for proofs, in milliseconds", "PROOF_BUDGET")
        .argParser(whole(50, 8_000))
        .default(PROOF_BUDGET_MS),
    )
    .addOption(
      option("--history-entries <n>", "changes of policies to keep for each namespace, 0 for none", "HISTORY_ENTRIES")
        .argParser(whole(0, 1_000))
        .default(HISTORY_ENTRIES),
    )
    // Injection.
    .addOption(option("--image <image>", "image of injected proxies", "IMAGE").default(DEFAULT_IMAGE))
    .addOption(
      option("--capture <how>", "how traffic reaches injected proxies", "CAPTURE")
        .choices(["redirect", "service"])
        .default("redirect"),
    )
    .addOption(
      option("--udp <how>", "inbound UDP of injected Pods, which no policy judges: pass or block it", "UDP")
        .choices(["pass", "refuse"])
        .default("pass"),
    )
    .addOption(
      option(
        "--outbound <how>",
        "outbound calls of injected Pods: capture them or not; a namespace's label overrides it",
        "OUTBOUND",
      )
        .choices(["capture", "off"])
        .default("capture"),
    )
    .addOption(
      option(
        "--outbound-policy <mode>",
        "captured calls to destinations outside the cluster; a namespace's label overrides it",
        "OUTBOUND_POLICY",
      )
        .choices(OUTBOUND_MODES)
        .default("ALLOW_ANY"),
    )
    .addOption(
      option("--sidecar <kind>", "kind of sidecar; auto is native from Kubernetes 1.32 on", "SIDECAR")
        .choices(["auto", "native", "plain"])
        .default("auto"),
    )
    .addOption(
      option(
        "--proxy-resources <json>",
        'requests and limits of injected containers, such as {"limits":{"memory":"1Gi"}}',
        "PROXY_RESOURCES",
      ).argParser(resources),
    )
    .addOption(
      option(
        "--control-plane <host:port>",
        "address of the control plane for injected proxies (default: the Service)",
        "CONTROL_PLANE",
      ).argParser(endpoint),
    )
    // Health and metrics.
    .addOption(
      new Option("--traces <url>", "send traces to this collector, OTLP over HTTP").env("OTEL_EXPORTER_OTLP_ENDPOINT"),
    )
    .addOption(
      option("--log-level <level>", "level of the log on standard error", "LOG_LEVEL").choices(LEVELS).default("info"),
    )
  return addClusterOidc(withEtcdFlags(command)).action((flags: ServeFlags & { config?: string }) => run(flags, command))
}

async function run({ config }: { config?: string }, command: Command): Promise<void> {
  readEnvSwitches(command, process.env)
  if (config !== undefined) applyConfigFile(command, config)
  const flags = command.opts<ServeFlags & { logLevel: string }>()
  const logger = pino({ level: flags.logLevel, base: null }, logDestination())
  const reason = await mapLargeBuffers(CONTROL_PLANE_BUFFERS)
  if (reason !== undefined) logger.warn({ reason }, "memory taken under load may be kept: cannot call the C library")
  let running: Serving | undefined
  let stopping = false
  const stop = (signal: string): void => {
    // A second signal exits at once.
    if (stopping) process.exit(1)
    stopping = true
    logger.info({ signal }, "stopping")
    // A process that still waits for the cluster serves no client yet, and writes to an embedded store are durable.
    if (running === undefined) process.exit(0)
    running.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop(signal))
  running = await startServing(flags, process.env, logger)
  process.stdout.write(running.summary)
}

function resources(text: string): ProxyResources {
  const read = proxyResources(text, { requests: {}, limits: {} })
  if (typeof read === "string") throw new InvalidArgumentError(read)
  return read
}
