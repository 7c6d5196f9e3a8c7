// SPDX-License-Identifier: Apache-2.0
// `merlond xserver`: the inbound proxy of one workload.

import { readBootstrap } from "@merlon/xds/member"
import { messageOf } from "@merlon/xds/runtime"
import {
  type AccessLogFormat,
  type ConfigurationSource,
  DEFAULT_LIMITS,
  FileSource,
  keepMemorySmall,
  type Limits,
  LOG_LEVELS,
  LocalDataPath,
  MeshSource,
  runWorker,
  tracesUrl,
  WorkerPool,
  Xserver,
  type XserverOptions,
} from "@merlon/xserver"
import { awaitDrainRequest } from "@merlon/xserver/drain"
import { Command, InvalidArgumentError, Option } from "commander"
import { type Logger, pino } from "pino"
import { type Address, address, whole } from "../arguments.js"
import { logDestination } from "../log-destination.js"
import { VERSION } from "../version.js"

// Where a proxy has several processes, each begins with the same file as the first.
export { runWorker }

interface Flags {
  readonly configFile?: string
  readonly bootstrap?: string
  readonly state?: string
  readonly workers: number
  readonly admin: Address
  readonly health: Address
  readonly accessLog: AccessLogFormat
  readonly traces?: string
  readonly traceRatio: number
  readonly logLevel: string
  readonly limit: Limits
}

export function xserverCommand(): Command {
  const option = (flags: string, description: string, env: string): Option => new Option(flags, description).env(env)
  return new Command("xserver")
    .description("stand in front of a workload and enforce its policies")
    .addOption(
      option(
        "--config-file <file>",
        "run alone, from YAML with workload, ports, policies, certificates",
        "MERLON_XSERVER_CONFIG_FILE",
      ).conflicts("bootstrap"),
    )
    .addOption(
      option("--bootstrap <file>", "join a mesh: YAML with control plane, workload, token", "MERLON_XSERVER_BOOTSTRAP"),
    )
    .addOption(
      option("--state <folder>", "keep the last good configuration here and start from it", "MERLON_XSERVER_STATE"),
    )
    .addOption(
      option("--workers <n>", "processes that share the work", "MERLON_XSERVER_WORKERS")
        .argParser(whole(1, 256))
        .default(1),
    )
    .addOption(
      option("--admin <host:port>", "config dump, decisions, log level", "MERLON_XSERVER_ADMIN")
        .argParser(loopback)
        .default({ host: "127.0.0.1", port: 15_000 }, "127.0.0.1:15000"),
    )
    .addOption(
      option("--health <host:port>", "readiness, liveness, metrics, probes", "MERLON_XSERVER_HEALTH")
        .argParser(address)
        .default({ host: "::", port: 15_021 }, "every address, port 15021"),
    )
    .addOption(
      option("--access-log <format>", "one line per request on standard output", "MERLON_XSERVER_ACCESS_LOG")
        .choices(["json", "text", "off"])
        .default("json"),
    )
    .addOption(
      option("--traces <url>", "collector of OpenTelemetry spans, OTLP over HTTP", "MERLON_XSERVER_TRACES").argParser(
        collector,
      ),
    )
    .addOption(
      option(
        "--trace-ratio <share>",
        "of the traces that begin here, how many are recorded, from 0 to 1; callers decide of theirs",
        "MERLON_XSERVER_TRACE_RATIO",
      )
        .argParser(share)
        .default(0.01),
    )
    .addOption(
      option("--log-level <level>", "of the log on standard error", "MERLON_XSERVER_LOG_LEVEL")
        .choices([...LOG_LEVELS])
        .default("info"),
    )
    .addOption(
      new Option("--limit <name=value>", "change a limit; may be given several times")
        .argParser(limit)
        .default(DEFAULT_LIMITS, "see below"),
    )
    .addHelpText(
      "after",
      () =>
        `\nLimits:\n${Object.entries(DEFAULT_LIMITS)
          .map(([name, value]) => `  ${name.padEnd(22)} ${value}`)
          .join("\n")}`,
    )
    .action((flags: Flags, command: Command) => run(flags, command))
}

async function run(flags: Flags, command: Command): Promise<void> {
  const reason = await keepMemorySmall()
  const logger = pino({ level: flags.logLevel, base: null }, logDestination())
  if (reason !== undefined) logger.warn({ reason }, "memory taken under load may be kept: cannot call the C library")
  const entry = { exec: process.argv[1] ?? "", args: [] }
  const { source, probe, admin, health, state } = sourceOf(flags, logger)
  // What is typed wins over what the bootstrap says, and that over what is usual.
  const isTyped = (name: string): boolean => command.getOptionValueSource(name) !== "default"
  const xserver = new Xserver({
    source,
    probe,
    admin: isTyped("admin") || admin === undefined ? flags.admin : loopback(admin),
    health: isTyped("health") || health === undefined ? flags.health : address(health),
    logger,
    makeDataPath(mesh) {
      const { limit: limits, accessLog, traces: url, traceRatio: ratio } = flags
      const traces = url === undefined ? undefined : { url, ratio, version: VERSION }
      const options = { mesh, limits, accessLog, traces }
      return flags.workers === 1 ? new LocalDataPath(options) : new WorkerPool(options, flags.workers, entry)
    },
  })
  process.on("SIGHUP", () => xserver.reload())
  const stop = (signal: string): void => {
    logger.info({ signal }, "draining")
    xserver.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.once("SIGTERM", () => stop("SIGTERM"))
  process.once("SIGINT", () => stop("SIGINT"))
  if (state !== undefined) {
    try {
      awaitDrainRequest(state, () => void xserver.startDraining())
    } catch (error) {
      // A rollout may then lose requests, which is no reason to serve none.
      logger.warn({ error: messageOf(error) }, "cannot be asked to drain")
    }
  }
  await xserver.start()
}

interface Sources {
  readonly source: ConfigurationSource
  readonly probe?: XserverOptions["probe"]
  readonly admin?: string | undefined
  readonly health?: string | undefined
  readonly state?: string | undefined
}

function sourceOf(flags: Flags, logger: Logger): Sources {
  const { configFile, bootstrap, state } = flags
  if (configFile !== undefined) return { source: new FileSource({ path: configFile, state, logger }), state }
  if (bootstrap === undefined) {
    throw new Error("tell me what to enforce: `--bootstrap FILE` to join a mesh, or `--config-file FILE` to run alone")
  }
  const read = readBootstrap(bootstrap, process.env)
  return {
    source: new MeshSource({
      bootstrap: { ...read, state: state ?? read.state },
      logger,
      version: VERSION,
      // Injection sets it; in a Pod connections to the application are captured wherever it listens.
      reportsExposure: process.env.POD_NAME === undefined,
    }),
    probe: read.probe && { question: read.probe, host: read.application },
    admin: read.admin,
    health: read.health,
    state: state ?? read.state,
  }
}

// Whoever reaches it reads every policy and decision; it asks for no proof of who that is.
function loopback(text: string): Address {
  const result = address(text)
  if (!/^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(result.host))
    throw new InvalidArgumentError("must be a loopback address, as 127.0.0.1:15000")
  return result
}

function collector(text: string): string {
  try {
    return tracesUrl(text)
  } catch (error) {
    throw new InvalidArgumentError(`${messageOf(error)}; name a collector as http://127.0.0.1:4318`)
  }
}

function share(text: string): number {
  const number = Number(text)
  if (text.trim() === "" || !(number >= 0 && number <= 1))
    throw new InvalidArgumentError("must be from 0 to 1, as 0.05")
  return number
}

function limit(text: string, limits: Limits): Limits {
  const [name = "", value = ""] = text.split("=")
  const number = Number(value)
  if (!Object.hasOwn(DEFAULT_LIMITS, name)) {
    throw new InvalidArgumentError(`there is no limit \`${name}\`; they are ${Object.keys(DEFAULT_LIMITS).join(", ")}`)
  }
  if (value === "" || !Number.isInteger(number) || number < 0)
    throw new InvalidArgumentError("the value must be a whole number")
  return { ...limits, [name]: number }
}
