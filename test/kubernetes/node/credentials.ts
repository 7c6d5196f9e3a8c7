// SPDX-License-Identifier: Apache-2.0
// The certificates and kubeconfigs of a node: one authority, and a key pair for each component.

import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export interface CredentialOptions {
  readonly folder: string
  readonly server: string
  readonly addresses: readonly string[]
}

export function writeCredentials({ folder, server, addresses }: CredentialOptions): void {
  const openssl = (...args: string[]): void => {
    execFileSync("openssl", args, { cwd: folder, stdio: "ignore" })
  }
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
  // A client of the second authority may act as any user, so no client has certificates of both.
  for (const name of ["ca", "front-proxy-ca"]) {
    const files = ["-keyout", `${name}.key`, "-out", `${name}.crt`]
    openssl("req", "-x509", ...key, ...files, "-days", "365", "-subj", `/CN=node-${name}`)
  }
  const issue = (name: string, subject: string, extensions: readonly string[], authority = "ca"): void => {
    openssl("req", ...key, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", subject)
    writeFileSync(join(folder, `${name}.ext`), extensions.join("\n"))
    const signer = ["-CA", `${authority}.crt`, "-CAkey", `${authority}.key`, "-CAcreateserial"]
    openssl(
      "x509",
      "-req",
      "-in",
      `${name}.csr`,
      ...signer,
      "-out",
      `${name}.crt`,
      "-days",
      "365",
      "-extfile",
      `${name}.ext`,
    )
  }
  const names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(name => `DNS:${name}`)
  const ips = addresses.map(address => `IP:${address}`)
  issue("server", "/CN=kube-apiserver", [
    "extendedKeyUsage=serverAuth",
    `subjectAltName=${[...names, ...ips].join(",")}`,
  ])
  issue("kubelet", "/CN=node1", ["extendedKeyUsage=serverAuth", `subjectAltName=DNS:node1,${ips.join(",")}`])
  issue("admin", "/O=system:masters/CN=admin", ["extendedKeyUsage=clientAuth"])
  issue("controllers", "/CN=system:kube-controller-manager", ["extendedKeyUsage=clientAuth"])
  issue("node", "/O=system:nodes/CN=system:node:node1", ["extendedKeyUsage=clientAuth"])
  issue("front-proxy", "/CN=front-proxy-client", ["extendedKeyUsage=clientAuth"], "front-proxy-ca")
  openssl("genrsa", "-out", "accounts.key", "2048")
  openssl("rsa", "-in", "accounts.key", "-pubout", "-out", "accounts.pub")
  for (const [file, user] of [
    ["kubeconfig", "admin"],
    ["controllers.kubeconfig", "controllers"],
    ["kubelet.kubeconfig", "node"],
  ] as const) {
    const data = (name: string): string => readFileSync(join(folder, name)).toString("base64")
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "kube", cluster: { server, "certificate-authority-data": data("ca.crt") } }],
      users: [
        {
          name: "me",
          user: { "client-certificate-data": data(`${user}.crt`), "client-key-data": data(`${user}.key`) },
        },
      ],
      contexts: [{ name: "kube", context: { cluster: "kube", user: "me" } }],
      "current-context": "kube",
    }
    writeFileSync(join(folder, file), JSON.stringify(config))
  }
}
