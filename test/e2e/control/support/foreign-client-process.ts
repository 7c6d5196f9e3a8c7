// SPDX-License-Identifier: Apache-2.0
// A process with grpc-js-xds, a third-party xDS client: one channel to the target in its arguments, for its whole life.
// A line on standard input requests calls, a line on standard output reports how often each server answered.

import { createInterface } from "node:readline"
import { credentials, Metadata } from "@grpc/grpc-js"
import { register, XdsChannelCredentials } from "@grpc/grpc-js-xds"
import { ASK, decodeText, encodeText, WhoClient } from "./who-service.js"

interface Order {
  readonly calls: number
  readonly headers: { readonly [name: string]: string }
}

register()
const [target = "", security = "plain"] = process.argv.slice(2)
const plain = credentials.createInsecure()
const client = new WhoClient(target, security === "xds" ? new XdsChannelCredentials(plain) : plain)

function ask(headers: Order["headers"]): Promise<string> {
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
  const options = { deadline: Date.now() + 60_000 }
  return new Promise(resolve => {
    client.makeUnaryRequest(ASK, encodeText, decodeText, "who?", metadata, options, (error, answer) =>
      resolve(error === null ? (answer ?? "") : `error: ${error.details}`),
    )
  })
}

for await (const line of createInterface({ input: process.stdin })) {
  const { calls, headers }: Order = JSON.parse(line) // only ForeignClient writes it
  const counts: { [who: string]: number } = {}
  for (const who of await Promise.all(Array.from({ length: calls }, () => ask(headers)))) {
    counts[who] = (counts[who] ?? 0) + 1
  }
  process.stdout.write(`${JSON.stringify(counts)}\n`)
}
client.close()
