// SPDX-License-Identifier: Apache-2.0
// The configuration of an xserver that runs alone: one YAML file with the workload, its ports, its policies (in place or
// in files beside it), its certificate and the key sets it is to trust. Relative paths start at the file.

import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import {
  keySetId,
  type MeshConfig,
  meshConfig,
  meshNames,
  type PathNormalization,
  type PolicyDocument,
  readDocuments,
  validate,
} from "@merlon/policy"
import { ConfigurationError, Reader } from "@merlon/xds"
import { parse } from "yaml"
import type { ApplicationPort } from "./application-port.js"
import type { Configuration, TlsMaterial } from "./configuration.js"
import type { Probe } from "./probe.js"

export interface ReadConfiguration {
  readonly configuration: Configuration
  /** Every file that was read, for whoever watches them. */
  readonly files: readonly string[]
}

export function readConfigurationFile(path: string, revision: number): ReadConfiguration {
  const folder = dirname(resolve(path))
  const files = [resolve(path)]
  const file = (name: string): string => {
    files.push(resolve(folder, name))
    return readText(resolve(folder, name))
  }
  const root = Reader.of(parseYaml(readText(path), path), "")
  const mesh = root.child("mesh", readMesh)
  const configuration: Configuration = {
    revision,
    mesh,
    workload: root.child("workload", workload => ({
      namespace: workload.text("namespace"),
      name: workload.text("name"),
      serviceAccount: workload.text("serviceAccount", "default"),
      labels: workload.textMap("labels"),
    })),
    ports: root.list("ports", (item, at) => readPort(Reader.of(item, at))),
    policies: [
      ...root.texts("policyFiles").flatMap(name => readPolicies(file(name), name, mesh)),
      ...root.list("policies", (item, at) => readPolicy(item, at, mesh)),
    ],
    keySets: Object.fromEntries(root.list("keySets", (item, at) => readKeySet(Reader.of(item, at), file))),
    tls: root.has("tls") ? root.child("tls", tls => readTls(tls, file)) : undefined,
    revocations: root.child("revocations", revoked => ({
      identities: revoked.texts("identities"),
      serials: revoked.texts("serials").map(serial => serial.replaceAll(":", "").toUpperCase()),
    })),
    probes: root.map("probes", (item, at) => readProbe(Reader.of(item, at))),
  }
  root.end()
  if (configuration.ports.length === 0)
    throw new ConfigurationError("config-value", "ports: at least one port is needed")
  return { configuration, files }
}

function readMesh(mesh: Reader): MeshConfig {
  const modes: readonly PathNormalization[] = ["NONE", "BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES"]
  return meshConfig({
    names: meshNames({ mesh: mesh.text("name", "merlon"), domain: mesh.text("domain", "merlon.dev") }),
    trustDomain: mesh.text("trustDomain", "cluster.local"),
    trustDomainAliases: mesh.texts("trustDomainAliases"),
    pathNormalization: mesh.choice("pathNormalization", modes, "BASE"),
    numTrustedProxies: mesh.whole("numTrustedProxies", 0, 100, 0),
  })
}

function readPort(port: Reader): ApplicationPort {
  const number = port.whole("port", 1, 65_535)
  const result: ApplicationPort = {
    port: number,
    listen: port.child("listen", listen => ({
      host: listen.text("host", "0.0.0.0"),
      port: listen.whole("port", 0, 65_535, 15_080),
    })),
    upstream: port.child("upstream", upstream => ({
      host: upstream.text("host", "127.0.0.1"),
      port: upstream.whole("port", 1, 65_535, number),
    })),
    protocol: port.choice("protocol", ["http", "tcp", "auto"], "auto"),
    upstreamProtocol: port.choice("upstreamProtocol", ["http/1.1", "h2c"], "http/1.1"),
    serviceNames: port.texts("serviceNames"),
    upgrades: port.texts("upgrades"),
  }
  port.end()
  return result
}

function readPolicies(text: string, name: string, { names }: MeshConfig): readonly PolicyDocument[] {
  return readDocuments(text, names).flatMap(({ document, faults }) => {
    const [first] = faults
    if (document !== undefined) return document
    const { position, message } = first ?? { message: "unreadable" }
    throw new ConfigurationError("config-value", `${name}:${position?.line ?? 1}:${position?.column ?? 1}: ${message}`)
  })
}

function readPolicy(item: unknown, at: string, { names }: MeshConfig): PolicyDocument {
  const { document, faults } = validate(item, names)
  if (document === undefined)
    throw new ConfigurationError("config-value", `${at}: ${faults[0]?.message ?? "unreadable"}`)
  return document
}

function readKeySet(keySet: Reader, file: (name: string) => string): readonly [string, string] {
  const issuer = keySet.optionalText("issuer")
  const jwksUri = keySet.optionalText("jwksUri")
  const jwks = file(keySet.text("file"))
  keySet.end()
  return [
    keySetId({ ...(issuer === undefined ? {} : { issuer }), ...(jwksUri === undefined ? {} : { jwksUri }) }),
    jwks,
  ]
}

function readTls(tls: Reader, file: (name: string) => string): TlsMaterial {
  return {
    certificateChain: file(tls.text("certificateChain")),
    privateKey: file(tls.text("privateKey")),
    trustBundle: file(tls.text("trustBundle")),
  }
}

function readProbe(probe: Reader): Probe {
  const result: Probe = {
    kind: probe.choice("kind", ["http", "https", "tcp", "grpc"], "http"),
    port: probe.whole("port", 1, 65_535),
    path: probe.text("path", "/"),
    headers: probe.textMap("headers"),
    timeoutMs: probe.whole("timeoutMs", 1, 600_000, 1_000),
  }
  probe.end()
  return result
}

function parseYaml(text: string, path: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    throw new ConfigurationError(
      "config-unreadable",
      `${path}: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch (error) {
    throw new ConfigurationError(
      "config-unreadable",
      `cannot read \`${path}\`: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}
