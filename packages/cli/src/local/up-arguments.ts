// SPDX-License-Identifier: Apache-2.0
// The flags of `merlonctl up` as arguments for the background supervisor.

import type { LayoutRequest } from "./layout/layout.js"

export interface UpRequest extends LayoutRequest {
  readonly mesh: string
  readonly domain: string
}

export function upArguments(request: UpRequest, data: string): readonly string[] {
  const {
    mesh,
    domain,
    samples,
    shop,
    apiPort,
    meshPort,
    meshListen,
    webhookPort,
    healthPort,
    consolePort,
    block,
    expose,
  } = request
  const numbers = {
    "--api-port": apiPort,
    "--mesh-port": meshPort,
    "--webhook-port": webhookPort,
    "--health-port": healthPort,
    "--console-port": consolePort,
    "--block": block,
  }
  return [
    ...["--data", data, "--mesh", mesh, "--domain", domain],
    ...(samples ? [] : ["--no-samples"]),
    ...(shop ? ["--shop"] : []),
    ...(meshListen === undefined ? [] : ["--mesh-listen", meshListen]),
    ...Object.entries(numbers).flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)])),
    ...[...expose].flatMap(([service, port]) => ["--expose", `${service}=${port}`]),
  ]
}
