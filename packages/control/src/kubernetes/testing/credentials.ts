// SPDX-License-Identifier: Apache-2.0
// Throw-away certificates from openssl, for servers and clients on the loopback address. Tests that use them carry the
// tag `needs/openssl`; without openssl they are skipped, and certificates are empty so that their modules still load.

import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export interface TestCredentials {
  readonly certificate: string
  readonly key: string
  readonly certificateFile: string
  readonly keyFile: string
}

/** Self-signed, so it is its own authority. */
export function selfSigned(folder: string, name: string): TestCredentials {
  const { keyFile, certificateFile } = files(folder, name)
  openssl(
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-days",
    "1",
    "-subj",
    `/CN=${name}`,
    "-addext",
    "subjectAltName=DNS:localhost,IP:127.0.0.1",
    "-keyout",
    keyFile,
    "-out",
    certificateFile,
  )
  return read(keyFile, certificateFile)
}

export interface SigningOptions {
  /** Base name of the files, if it is not the subject. */
  readonly file?: string
  readonly days?: number
  /** Lines in the format of OpenSSL's configuration. */
  readonly extensions?: readonly string[]
}

export function signedBy(
  folder: string,
  issuer: TestCredentials,
  name: string,
  dnsName: string,
  { file = name, days = 1, extensions: more = [] }: SigningOptions = {},
): TestCredentials {
  const { keyFile, certificateFile } = files(folder, file)
  const request = join(folder, `${file}.csr`)
  const extensions = join(folder, `${file}.ext`)
  // Without the issuer's key identifier: a forger would leave it out too, so that only the names match.
  writeFileSync(extensions, ["authorityKeyIdentifier=none", `subjectAltName=DNS:${dnsName}`, ...more, ""].join("\n"))
  openssl(
    "req",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-subj",
    `/CN=${name}`,
    "-keyout",
    keyFile,
    "-out",
    request,
  )
  openssl(
    "x509",
    "-req",
    "-in",
    request,
    "-CA",
    issuer.certificateFile,
    "-CAkey",
    issuer.keyFile,
    "-CAcreateserial",
    "-days",
    String(days),
    "-extfile",
    extensions,
    "-out",
    certificateFile,
  )
  return read(keyFile, certificateFile)
}

function files(folder: string, name: string) {
  return { keyFile: join(folder, `${name}.key`), certificateFile: join(folder, `${name}.crt`) }
}

function read(keyFile: string, certificateFile: string): TestCredentials {
  const certificate = readFileSync(certificateFile, "utf8")
  return { certificate, key: readFileSync(keyFile, "utf8"), certificateFile, keyFile }
}

function openssl(...args: string[]): void {
  const { error, status, stderr } = spawnSync("openssl", args, { encoding: "utf8" })
  if (error !== undefined && "code" in error && error.code === "ENOENT") {
    for (const flag of ["-keyout", "-out"])
      if (args.includes(flag)) writeFileSync(args[args.indexOf(flag) + 1] ?? "", "")
  } else if (status !== 0) throw new Error(`openssl failed: ${stderr}`)
}
