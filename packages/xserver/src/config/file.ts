// SPDX-License-Identifier: Apache-2.0
// The configuration of a standalone xserver: one YAML file with the workload, its ports, its policies (inline or in
// separate files), its certificate and the key sets to trust. Paths are relative to the file.

import { isIP } from "node:net"
import { dirname, resolve } from "node:path"
import { type MeshConfig, meshConfig, meshNames, PATH_NORMALIZATIONS, readProviderSettings } from "@merlon/policy/mesh"
import { type PolicyDocument, readDocuments, validate } from "@merlon/policy/resources"
import {
  choice,
  list,
  optional,
  orElse,
  type Read,
  record,
  settings,
  someText,
  text,
  whole,
  wrong,
} from "@merlon/policy/shape"
import { keySetId } from "@merlon/policy/tokens"
import { ConfigurationError, readSettings } from "@merlon/xds/member"
import { messageOf, readUtf8File } from "@merlon/xds/runtime"
import { parse } from "yaml"
import type { Configuration } from "./configuration.js"
import type { Probe } from "./probe.js"

const MAX_ITEMS = 65_536
const MAX_TEXT = 65_536
const port = whole(1, 65_535)
const ipAddress: Read<string> = (value, at) => {
  if (typeof value === "string" && isIP(value) !== 0) return value
  throw wrong(at, "must be an address, such as `::1`", value)
}
const texts = orElse(list(MAX_ITEMS, someText), [])
const textMap = orElse(record(MAX_ITEMS, text(MAX_TEXT)), {})

const file = settings({
  mesh: settings({
    name: orElse(someText, "merlon"),
    domain: orElse(someText, "merlon.dev"),
    trustDomain: orElse(someText, "cluster.local"),
    trustDomainAliases: texts,
    pathNormalization: optional(choice(...PATH_NORMALIZATIONS)),
    numTrustedProxies: orElse(whole(0, 100), 0),
    // Read together with the files that it names.
    providers: value => value,
  }),
  workload: settings({
    namespace: someText,
    name: someText,
    serviceAccount: orElse(someText, "default"),
    labels: textMap,
    services: texts,
  }),
  ports: orElse(
    list(
      MAX_ITEMS,
      settings({
        port,
        listen: settings({ host: orElse(someText, "::"), port: orElse(whole(0, 65_535), 15_080) }),
        upstream: settings({
          host: orElse(someText, "127.0.0.1"),
          port: optional(port),
          fallback: orElse(list(MAX_ITEMS, ipAddress), []),
        }),
        protocol: orElse(choice("http", "tcp", "auto"), "auto"),
        upstreamProtocol: orElse(choice("http/1.1", "h2c"), "http/1.1"),
        serviceNames: texts,
        upgrades: texts,
      }),
    ),
    [],
  ),
  policyFiles: texts,
  policies: orElse(
    list(MAX_ITEMS, (item, at) => ({ item, at })),
    [],
  ),
  keySets: orElse(
    list(MAX_ITEMS, settings({ issuer: optional(someText), jwksUri: optional(someText), file: someText })),
    [],
  ),
  tls: optional(settings({ certificateChain: someText, privateKey: someText, trustBundle: someText })),
  revocations: settings({ identities: texts, serials: texts }),
  probes: orElse(
    record<Probe>(
      MAX_ITEMS,
      settings({
        kind: orElse(choice("http", "https", "tcp", "grpc"), "http"),
        port,
        path: orElse(someText, "/"),
        headers: textMap,
        timeoutMs: orElse(whole(1, 600_000), 1_000),
      }),
    ),
    {},
  ),
})

/** `onRead` is called for each file before it is read, so that the caller can watch the files. */
export function readConfigurationFile(
  path: string,
  revision: number,
  onRead: (file: string) => void = () => undefined,
): Configuration {
  const folder = dirname(resolve(path))
  const contentOf = (name: string): string => {
    const file = resolve(folder, name)
    onRead(file)
    return readText(file)
  }
  onRead(resolve(path))
  const {
    mesh: meshSettings,
    ports,
    policyFiles,
    policies,
    keySets,
    tls,
    revocations,
    ...rest
  } = readSettings(parseYaml(readText(path), path), file)
  const { name, domain, providers: declared, ...meaning } = meshSettings
  const providers = readSettings({ providers: declared }, value => readProviderSettings(value, contentOf))
  const mesh = meshConfig({ names: meshNames({ mesh: name, domain }), ...meaning, providers })
  if (ports.length === 0) throw new ConfigurationError("config-value", "ports: at least one port is needed")
  return {
    ...rest,
    revision,
    mesh,
    ports: ports.map(({ upstream, ...one }) => ({
      ...one,
      upstream: { ...upstream, port: upstream.port ?? one.port },
    })),
    policies: [
      ...policyFiles.flatMap(policyFile => readPolicies(contentOf(policyFile), policyFile, mesh)),
      ...policies.map(({ item, at }) => readPolicy(item, at, mesh)),
    ],
    keySets: Object.fromEntries(keySets.map(keySet => [keySetId(keySet), contentOf(keySet.file)])),
    tls: tls && {
      certificateChain: contentOf(tls.certificateChain),
      privateKey: contentOf(tls.privateKey),
      trustBundle: contentOf(tls.trustBundle),
    },
    revocations: {
      identities: revocations.identities,
      serials: revocations.serials.map(serial => serial.replaceAll(":", "").toUpperCase()),
    },
  }
}

function readPolicies(text: string, name: string, { names, providers }: MeshConfig): readonly PolicyDocument[] {
  return readDocuments(text, names, { providers }).flatMap(({ document, errors }) => {
    const [first] = errors
    if (document !== undefined) return document
    const { position, message } = first ?? { message: "unreadable" }
    throw new ConfigurationError("config-value", `${name}:${position?.line ?? 1}:${position?.column ?? 1}: ${message}`)
  })
}

function readPolicy(item: unknown, at: string, { names, providers }: MeshConfig): PolicyDocument {
  const { document, errors } = validate(item, names, { providers })
  if (document === undefined)
    throw new ConfigurationError("config-value", `${at}: ${errors[0]?.message ?? "unreadable"}`)
  return document
}

function parseYaml(text: string, path: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw new ConfigurationError("config-unreadable", `${path}: ${messageOf(error)}`)
  }
}

function readText(path: string): string {
  try {
    return readUtf8File(path)
  } catch (error) {
    throw new ConfigurationError("config-unreadable", `cannot read \`${path}\`: ${messageOf(error)}`)
  }
}
