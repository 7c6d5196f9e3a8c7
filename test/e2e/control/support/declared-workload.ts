// SPDX-License-Identifier: Apache-2.0
// A workload that an administrator declared: its Pod, its bound token and bootstrap file, an application, and a real
// `merlond xserver`, `proxy` or `authorizer` in front of it on a separate loopback address.

import { randomInt } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { request as httpsRequest, type RequestOptions } from "node:https"
import { join } from "node:path"
import type { PeerCertificate } from "node:tls"
import { decodeProxyResource } from "@merlon/xds"
import { readCheckedFile } from "@merlon/xds/runtime"
import { expect, vi } from "vitest"
import { SERVICE_ACCOUNTS } from "../../../../packages/control/src/kubernetes/resource-type.js"
import { type Application, startApplication } from "../../support/application.js"
import { type ClusterApi, names, WAIT } from "./cluster-api.js"
import { Program } from "./program.js"

export interface Declaration {
  readonly name: string
  readonly namespace: string
  readonly labels: { readonly [key: string]: string }
  readonly serviceAccount: string
  /** Port of the control plane for its proxy. */
  readonly meshPort: number
}

export interface CallerCredentials {
  readonly chain: string
  readonly key: string
  readonly trust: string
}

export interface PeerTls {
  readonly cert: string
  readonly key: string
  readonly ca: string
  readonly checkServerIdentity: (host: string, certificate: PeerCertificate) => Error | undefined
}

export class DeclaredWorkload {
  readonly key: string
  readonly folder: string
  readonly token: string
  readonly address = `127.${randomInt(2, 250)}.${randomInt(1, 250)}.${randomInt(1, 250)}`
  readonly application: Application
  readonly declaration: Declaration
  readonly trustBundle: string
  #xserver: Program | undefined

  private constructor(declaration: Declaration, folder: string, token: string, bundle: string, app: Application) {
    this.declaration = declaration
    this.key = `${declaration.namespace}/${declaration.name}`
    this.folder = folder
    this.token = token
    this.trustBundle = bundle
    this.application = app
    const { name, namespace, serviceAccount } = declaration
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, "token"), token)
    writeFileSync(join(folder, "root.pem"), bundle)
    writeFileSync(
      join(folder, "bootstrap.yaml"),
      JSON.stringify({
        controlPlane: { address: `127.0.0.1:${declaration.meshPort}` },
        workload: { namespace, name, serviceAccount },
        trustBundle: "root.pem",
        token: "token",
        listen: this.address,
        application: "127.0.0.1",
        address: this.address,
        state: "state",
      }),
    )
  }

  static async declare(api: ClusterApi, declaration: Declaration, folder: string): Promise<DeclaredWorkload> {
    const { name, namespace, labels, serviceAccount } = declaration
    const application = await startApplication()
    await api.ensure({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
    await api.ensure({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: serviceAccount, namespace } })
    const pod = await api.put({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        ...{ name, namespace, labels },
        annotations: { [`${names.domain}/workload`]: "declared", [`${names.domain}/proxy`]: "xserver" },
      },
      spec: {
        serviceAccountName: serviceAccount,
        containers: [{ name: "app", image: "none", ports: [{ name: "http", containerPort: application.port }] }],
      },
    })
    const { status } = await api.client.createSubresource<{ readonly status: { readonly token: string } }>(
      SERVICE_ACCOUNTS,
      serviceAccount,
      "token",
      {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {
          audiences: [names.tokenAudience],
          expirationSeconds: 3_600,
          boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid: pod.metadata.uid },
        },
      },
      namespace,
    )
    return new DeclaredWorkload(declaration, folder, status.token, await bundleOf(api, namespace), application)
  }

  get identity(): string {
    const { namespace, serviceAccount } = this.declaration
    return `spiffe://cluster.local/ns/${namespace}/sa/${serviceAccount}`
  }

  get xserver(): Program {
    if (this.#xserver === undefined) throw new Error("the xserver does not run")
    return this.#xserver
  }

  /** Starts the proxy and waits until it is ready. */
  async run(
    env: { readonly [name: string]: string } = {},
    command: "xserver" | "proxy" | "authorizer" = "xserver",
  ): Promise<void> {
    const { address, folder } = this
    const args = [
      ...[command, "--bootstrap", join(folder, "bootstrap.yaml"), "--access-log", "off"],
      ...["--admin", `${address}:15000`, "--health", `${address}:15021`],
    ]
    const program = new Program(args, env)
    this.#xserver = program
    await vi.waitFor(async () => {
      const { status } = await this.#ask(httpRequest, { port: 15_021, path: "/healthz/ready" })
      expect(status, program.stderr).toBe(200)
    }, WAIT)
  }

  /** Status of a request over a new plaintext connection; 0 if there is no response. */
  async get(path: string, headers: { readonly [name: string]: string } = {}): Promise<number> {
    return (await this.#ask(httpRequest, { port: 15_080, path, headers })).status
  }

  /**
   * Status of a request over a new mTLS connection with the other workload's certificate, which this workload must
   * trust.
   */
  async getAs(caller: DeclaredWorkload, path: string): Promise<number> {
    return (await this.#ask(httpsRequest, { port: 15_080, path, ...this.tlsAs(caller.credentials) })).status
  }

  tlsAs({ chain, key, trust }: CallerCredentials): PeerTls {
    return {
      cert: chain,
      key,
      ca: trust,
      checkServerIdentity: (_, { subjectaltname }) =>
        subjectaltname === `URI:${this.identity}` ? undefined : new Error(`this is ${subjectaltname}`),
    }
  }

  /** Its current credentials. */
  get credentials(): CallerCredentials {
    const kept = (name: string) => JSON.parse(readCheckedFile(join(this.folder, "state"), name) ?? "")
    const { certificateChain, privateKey } = kept("credentials.json")
    const { resources } = kept("mesh-state.json")
    const stored: readonly { readonly name: string; readonly value: string }[] = resources
    const trust = stored.find(({ name }) => name === "trust")
    const decoded = decodeProxyResource(Buffer.from(trust?.value ?? "", "base64"))
    if (decoded.kind !== "trust") throw new Error("the proxy keeps no trust")
    return { chain: certificateChain, key: privateKey, trust: decoded.trust.bundle }
  }

  async close(): Promise<void> {
    await this.#xserver?.kill()
    await this.application.close()
  }

  #ask(
    send: typeof httpRequest | typeof httpsRequest,
    options: RequestOptions,
  ): Promise<{ readonly status: number; readonly body: string }> {
    return new Promise(resolve => {
      const asked = send({ host: this.address, agent: false, timeout: 90_000, ...options }, response => {
        let body = ""
        response.on("data", chunk => {
          body += chunk
        })
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }))
      })
      asked.on("timeout", () => asked.destroy())
      asked.on("error", error => resolve({ status: 0, body: error.message }))
      asked.end()
    })
  }
}

async function bundleOf(api: ClusterApi, namespace: string): Promise<string> {
  return vi.waitFor(async () => {
    const configMap = await api.get("ConfigMap", "merlon-ca-root-cert", namespace)
    const { "root-cert.pem": bundle = "" } = (configMap?.data ?? {}) as { readonly [key: string]: string }
    expect(bundle).toContain("BEGIN CERTIFICATE")
    return bundle
  }, WAIT)
}
