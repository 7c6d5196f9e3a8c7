// SPDX-License-Identifier: Apache-2.0
// Credentials from a program that the kubeconfig names (client.authentication.k8s.io v1 and v1beta1). The result is
// cached until shortly before it expires; concurrent callers share one run.

import { spawn } from "node:child_process"
import { ConnectionError, type Credentials } from "./connection.js"
import type { Time } from "./time.js"

export interface ExecSpec {
  readonly apiVersion: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: { readonly [name: string]: string }
  readonly installHint?: string
  /** Facts about the cluster for the program, if the kubeconfig requests them. */
  readonly cluster?: { readonly [field: string]: unknown }
}

const VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]
const TIMEOUT_MS = 60_000
const MAX_OUTPUT = 1 << 20
const MAX_COMPLAINT = 2000
/** A credential must not expire while a request is on its way. */
const EARLY_MS = 10_000

export class ExecCredential {
  readonly #spec: ExecSpec
  readonly #time: Time
  readonly #timeoutMs: number
  #known: { readonly credentials: Credentials; readonly until: number } | undefined
  #running: Promise<Credentials> | undefined

  constructor(spec: ExecSpec, time: Time, timeoutMs = TIMEOUT_MS) {
    if (!VERSIONS.includes(spec.apiVersion)) {
      throw new ConnectionError(
        "credential-program",
        `the credential program \`${spec.command}\` uses \`${spec.apiVersion}\`; supported are ${VERSIONS.map(version => `\`${version}\``).join(" and ")}`,
      )
    }
    this.#spec = spec
    this.#time = time
    this.#timeoutMs = timeoutMs
  }

  async credentials(): Promise<Credentials> {
    if (this.#known !== undefined && this.#time.now() < this.#known.until) return this.#known.credentials
    this.#running ??= this.#ask().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  rejected(): void {
    this.#known = undefined
  }

  async #ask(): Promise<Credentials> {
    const { command } = this.#spec
    const answer = read(command, await run(this.#spec, this.#timeoutMs))
    if (answer.apiVersion !== this.#spec.apiVersion) {
      throw new ConnectionError(
        "credential-program",
        `the credential program \`${command}\` answered with \`${String(answer.apiVersion)}\` instead of \`${this.#spec.apiVersion}\``,
      )
    }
    const { token, clientCertificateData, clientKeyData, expirationTimestamp } = object(answer.status)
    const credentials: Credentials = {
      ...(typeof token === "string" && token !== "" ? { token } : {}),
      ...(typeof clientCertificateData === "string" && typeof clientKeyData === "string"
        ? { certificate: clientCertificateData, key: clientKeyData }
        : {}),
    }
    if (Object.keys(credentials).length === 0) {
      throw new ConnectionError(
        "credential-program",
        `the credential program \`${command}\` returned neither a token nor a certificate with its key`,
      )
    }
    const ends = typeof expirationTimestamp === "string" ? Date.parse(expirationTimestamp) : Number.NaN
    this.#known = { credentials, until: Number.isNaN(ends) ? Number.POSITIVE_INFINITY : ends - EARLY_MS }
    return credentials
  }
}

function run(spec: ExecSpec, timeoutMs: number): Promise<string> {
  const { apiVersion, command, args, env, installHint, cluster } = spec
  const info = {
    apiVersion,
    kind: "ExecCredential",
    spec: { interactive: false, ...(cluster === undefined ? {} : { cluster }) },
  }
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown): void =>
      reject(new ConnectionError("credential-program", `the credential program \`${command}\` ${why}`, { cause }))
    const child = spawn(command, args, {
      env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      stdio: ["ignore", "pipe", "pipe"],
    })
    let output = ""
    let complaint = ""
    // The program's children may still run and hold the pipes, so these are closed too.
    const stop = (why: string): void => {
      child.kill("SIGKILL")
      child.stdout.destroy()
      child.stderr.destroy()
      fail(why)
    }
    // A program that hangs must not block the whole control plane.
    const timer = setTimeout(() => stop(`did not answer within ${timeoutMs / 1000} s`), timeoutMs)
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
      if (output.length > MAX_OUTPUT) stop(`wrote more than ${MAX_OUTPUT} characters`)
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint = (complaint + text).slice(-MAX_COMPLAINT)
    })
    child.on("error", error => {
      clearTimeout(timer)
      fail(`could not be started: ${error.message}${installHint === undefined ? "" : `; ${installHint.trim()}`}`, error)
    })
    child.on("close", code => {
      clearTimeout(timer)
      if (code === 0) resolve(output)
      else fail(`failed with ${code ?? "a signal"}: ${complaint.trim() || "no error output"}`)
    })
  })
}

function read(command: string, output: string): { readonly [field: string]: unknown } {
  try {
    return object(JSON.parse(output))
  } catch (error) {
    throw new ConnectionError("credential-program", `the credential program \`${command}\` did not print JSON`, {
      cause: error,
    })
  }
}

function object(value: unknown): { readonly [field: string]: unknown } {
  return typeof value === "object" && value !== null ? { ...value } : {}
}
