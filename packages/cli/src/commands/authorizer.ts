// SPDX-License-Identifier: Apache-2.0
// `merlond authorizer`: answers authorization queries of gateways by the policies that select it. It joins the mesh or
// runs standalone, like an xserver, but its requests are queries, which it answers instead of forwarding.

import { FORWARD_AUTH, type ForwardAuthKind, Gateways, type TrustedStatement } from "@merlon/xserver"
import { Command, InvalidArgumentError, Option } from "commander"
import { type ProxyFlags, runProxy, withProxyOptions } from "./xserver.js"

interface Flags extends ProxyFlags {
  readonly gateway: readonly string[]
  readonly forwardAuth?: ForwardAuthKind
  readonly authzen?: true
  readonly trustPeer?: TrustedStatement
  readonly trustAddress?: TrustedStatement
}

/** Trusts other programs on the same machine: the narrowest default that works without a flag. */
const LOOPBACK: readonly string[] = ["127.0.0.0/8", "::1"]

export function authorizerCommand(): Command {
  return withProxyOptions(new Command("authorizer"))
    .description(
      "Answer authorization requests of gateways: Envoy ext_authz, nginx auth_request, Traefik, Caddy, AuthZEN",
    )
    .addOption(
      new Option("--gateway <who>", "address, CIDR block or principal of an allowed gateway; repeatable")
        .argParser(gateway)
        .default(LOOPBACK, LOOPBACK.join(" and ")),
    )
    .addOption(
      new Option(
        "--forward-auth <kind>",
        "trust the headers in which this kind of gateway describes the request",
      ).choices(Object.keys(FORWARD_AUTH)),
    )
    .option("--authzen", "serve the OpenID Authorization API (AuthZEN) under /access/v1/")
    .addOption(
      new Option(
        "--trust-peer <where>",
        "trust the caller's identity from `envoy` (its gRPC request), `authzen` (the subject), or a header like x-forwarded-client-cert",
      ).argParser(statement),
    )
    .addOption(
      new Option(
        "--trust-address <where>",
        "trust the caller's address from `envoy` (its gRPC request), `authzen` (the subject), or the last entry of a header like x-forwarded-for",
      ).argParser(statement),
    )
    .action((given: Flags, command: Command) => {
      const { gateway: gateways, forwardAuth, authzen, trustPeer: peer, trustAddress: address, ...flags } = given
      return runProxy({ ...flags, authorizer: { gateways, peer, address, forwardAuth, authzen } }, command)
    })
}

function gateway(text: string, before: readonly string[]): readonly string[] {
  try {
    new Gateways([text])
  } catch {
    throw new InvalidArgumentError(
      "must be an address, a block of addresses, or a principal as cluster.local/ns/edge/sa/gateway",
    )
  }
  return before === LOOPBACK ? [text] : [...before, text]
}

function statement(text: string): TrustedStatement {
  if (text === "envoy") return "attribute"
  if (text === "authzen") return "subject"
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text))
    throw new InvalidArgumentError("must be `envoy`, `authzen` or the name of a header")
  return { header: text.toLowerCase() }
}
