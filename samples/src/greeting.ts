// SPDX-License-Identifier: Apache-2.0
// Responds with its version, so that users see which instance was called.

import type { RequestListener } from "node:http"

export function greeting(version: string): RequestListener {
  const text = `hello from web ${version}\n`
  return (request, response) => {
    // The body is read and discarded, so that the connection can be reused.
    request.resume()
    const path = (request.url ?? "/").split("?")[0]
    const found = path === "/" || path === "/version"
    const answer = found ? text : `there is no \`${path}\`; ask for /\n`
    response.writeHead(found ? 200 : 404, {
      "content-type": "text/plain; charset=utf-8",
      "content-length": Buffer.byteLength(answer),
    })
    response.end(answer)
  }
}
