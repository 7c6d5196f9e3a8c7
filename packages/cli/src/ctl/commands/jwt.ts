// SPDX-License-Identifier: Apache-2.0
// `merlonctl jwt`: makes keys, tokens and key sets for testing, and inspects any token.

import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { meshNames } from "@merlon/policy/mesh"
import { parseKeySet, TOKEN_ALGORITHMS, type TokenAlgorithm } from "@merlon/policy/tokens"
import { Command, Option } from "commander"
import { calculateJwkThumbprint, SignJWT } from "jose"
import { several } from "../../arguments.js"
import { CommandError, EXIT, usageError } from "../exit.js"
import { type OutputFormat, outputOption, withMeshFlags } from "../flags.js"
import { type ClaimFlags, claimsOf } from "../jwt/claims.js"
import { formatInspection } from "../jwt/format-inspection.js"
import { inspect } from "../jwt/inspection.js"
import { keySetText } from "../jwt/key-set-text.js"
import { makeKey, publicJwk, readKey } from "../jwt/private-key.js"
import { formatObject } from "../output/objects.js"
import { readText, standardInput } from "../read-text.js"
import { print, printError, warn } from "../terminal.js"

export function jwtCommand(): Command {
  return new Command("jwt")
    .description("Create keys, tokens and key sets for tests")
    .addCommand(keygenCommand())
    .addCommand(mintCommand())
    .addCommand(jwksCommand())
    .addCommand(inspectCommand())
}

interface KeygenFlags {
  readonly alg: TokenAlgorithm
  readonly kid?: string
  readonly out: string
  readonly format: "jwk" | "pem"
  readonly force: boolean
  readonly output?: OutputFormat
}

function keygenCommand(): Command {
  return new Command("keygen")
    .description("Create a private key to sign with and a key set to publish")
    .addOption(new Option("--alg <name>", "algorithm of its tokens").choices([...TOKEN_ALGORITHMS]).default("RS256"))
    .option("--kid <id>", "key id (default: the key's thumbprint, RFC 7638)")
    .option("--out <folder>", "output folder", ".")
    .addOption(new Option("--format <format>", "format of the private key").choices(["jwk", "pem"]).default("jwk"))
    .option("--force", "overwrite existing files", false)
    .addOption(outputOption(["json", "yaml"]))
    .action(keygen)
}

async function keygen({ alg, kid: asked, out, format, force, output }: KeygenFlags): Promise<void> {
  const key = makeKey(alg)
  const kid = asked ?? (await calculateJwkThumbprint(publicJwk(key, "", alg)))
  const files = {
    privateKey: join(out, format === "jwk" ? "private.jwk.json" : "private.pem"),
    jwks: join(out, "jwks.json"),
  }
  for (const file of Object.values(files)) {
    if (!force && existsSync(file)) {
      throw new CommandError(
        "file-exists",
        `\`${file}\` is there already; choose another \`--out\`, or replace it with \`--force\``,
      )
    }
  }
  const jwk = { ...key.export({ format: "jwk" }), kid, alg, use: "sig" }
  mkdirSync(out, { recursive: true })
  writePrivate(
    files.privateKey,
    format === "jwk"
      ? `${JSON.stringify(jwk, undefined, 2)}\n`
      : key.export({ format: "pem", type: "pkcs8" }).toString(),
  )
  writeFileSync(files.jwks, `${JSON.stringify({ keys: [publicJwk(key, kid, alg)] }, undefined, 2)}\n`)
  if (output === "json" || output === "yaml") return print(formatObject(output, { kid, alg, ...files }))
  print(`private key  ${files.privateKey}\nkey set      ${files.jwks}\nkey id       ${kid}`)
  const withKid = format === "pem" && asked !== undefined ? ` --kid ${kid}` : ""
  printError(`next: \`merlonctl jwt mint --key ${files.privateKey}${withKid} --iss ISSUER --sub SUBJECT\``)
}

/** Writes a file that others can never read, not even for a moment. */
function writePrivate(file: string, text: string): void {
  if (existsSync(file)) chmodSync(file, 0o600)
  writeFileSync(file, text, { mode: 0o600 })
}

interface MintFlags extends ClaimFlags {
  readonly key: string
  readonly kid?: string
  readonly alg?: TokenAlgorithm
  readonly typ: string
}

function mintCommand(): Command {
  return new Command("mint")
    .description("Sign a token and print it")
    .requiredOption("--key <file>", "private key, JWK or PEM; - for standard input")
    .option("--iss <issuer>", "issuer")
    .option("--sub <subject>", "subject")
    .option("--aud <audience>", "audience (repeatable)", several, [])
    .option("--claim <name=value>", "further claim; JSON if it is valid JSON, else text", several, [])
    .option("--claims <json>", "further claims as one JSON object")
    .option("--jti <id>", "id of the token")
    .option("--exp <time>", "expiry: a duration as 1h, a date, or `never`", "1h")
    .option("--nbf <time>", "not valid before: a duration as 5m, or a date")
    .option("--kid <id>", "key id for the header (default: the key's own)")
    .addOption(new Option("--alg <name>", "algorithm (default: the key's own)").choices([...TOKEN_ALGORITHMS]))
    .option("--typ <type>", "type for the header", "JWT")
    .addHelpText("after", MINT_EXAMPLES)
    .action(mint)
}

const MINT_EXAMPLES = `
Examples:
  TOKEN=$(merlonctl jwt mint --key samples/keys/private.jwk.json --iss https://issuer.example --sub alice)
  merlonctl jwt mint --key k.json --iss me --sub bob --claim 'groups=["admin","dev"]' --exp=-1m`

async function mint(flags: MintFlags): Promise<void> {
  const { key, alg, kid } = readKey(await readText(flags.key, "the key"), flags.key)
  const chosen = flags.alg ?? alg
  const claims = claimsOf(flags, Math.floor(Date.now() / 1000))
  const header = { alg: chosen, typ: flags.typ, kid: flags.kid ?? kid ?? (await thumbprint(key, chosen)) }
  try {
    print(await new SignJWT({ ...claims }).setProtectedHeader(header).sign(key))
  } catch {
    throw new CommandError("usage", `the key cannot sign with \`${chosen}\`; leave out \`--alg\` to use \`${alg}\``)
  }
}

function thumbprint(key: ReturnType<typeof makeKey>, alg: TokenAlgorithm): Promise<string> {
  return calculateJwkThumbprint(publicJwk(key, "", alg))
}

interface JwksFlags {
  readonly key: string
  readonly kid?: string
  readonly output?: OutputFormat
}

function jwksCommand(): Command {
  return new Command("jwks")
    .description("Print the public key set of a private key, to publish or to paste into `jwks:`")
    .requiredOption("--key <file>", "private key, JWK or PEM; - for standard input")
    .option("--kid <id>", "key id (default: the key's own)")
    .addOption(outputOption(["json", "yaml"], "json for a file, yaml for a policy (default: one line)"))
    .action(async ({ key: file, kid: asked, output }: JwksFlags) => {
      const { key, alg, kid } = readKey(await readText(file, "the key"), file)
      const keySet = { keys: [publicJwk(key, asked ?? kid ?? (await thumbprint(key, alg)), alg)] }
      if (output === "json") print(JSON.stringify(keySet, undefined, 2))
      else if (output === "yaml") print(`jwks: |\n  ${JSON.stringify(keySet)}`)
      else print(JSON.stringify(keySet))
    })
}

interface InspectFlags {
  readonly jwks?: string
  readonly iss?: string
  readonly aud: readonly string[]
  readonly output?: OutputFormat
  readonly mesh: string
  readonly domain: string
}

function inspectCommand(): Command {
  return withMeshFlags(
    new Command("inspect")
      .description("Decode a token, and show whether a proxy would accept it")
      .argument("<token>", "the token; - for standard input, which hides it from the process list")
      .option("--jwks <file>", "key set to check the signature with, file or URL")
      .option("--iss <issuer>", "required issuer")
      .option("--aud <audience>", "accepted audience (repeatable)", several, [])
      .addOption(outputOption(["json", "yaml"])),
  )
    .addHelpText("after", "\nExits with 1 if the token would be denied.")
    .action(inspectToken)
}

async function inspectToken(argument: string, flags: InspectFlags): Promise<void> {
  const text = argument === "-" ? await standardInput() : argument
  const token = text.trim().replace(/^bearer\s+/i, "")
  if (token === "") throw usageError("no token found in the input")
  if (argument === "-" && flags.jwks === "-")
    throw usageError("standard input can be read once: give the key set as a file")
  const now = Math.floor(Date.now() / 1000)
  const keySet = flags.jwks === undefined ? undefined : readKeySet(await keySetText(flags.jwks), flags.jwks)
  const expected = { keySet, audiences: flags.aud, ...(flags.iss === undefined ? {} : { issuer: flags.iss }) }
  const inspection = inspect(token, expected, meshNames(flags), now)
  const { outcome, ...inspected } = inspection
  if (flags.output === "json" || flags.output === "yaml")
    print(formatObject(flags.output, { ...inspected, ...outcome }))
  else print(formatInspection(inspection, now))
  if (outcome.verdict === "rejected") process.exitCode = EXIT.failed
}

function readKeySet(text: string, from: string) {
  const result = parseKeySet(text)
  if (!result.ok) throw new CommandError("unreadable-file", `\`${from}\`: ${result.error.message}`)
  const { keySet } = result
  if (keySet.exposed.length > 0) warn(`\`${from}\` holds private keys, which belong into no key set`)
  for (const { index, reason } of keySet.skipped) warn(`\`${from}\`: key ${index} is not used: ${reason}`)
  return keySet
}
