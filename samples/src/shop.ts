#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The services of the sample shop, and a visitor outside the mesh that sends requests to them: `shop cart --port 8080`,
// or `shop visitor http://127.1.0.5:15080`. Services call through the proxy in `http_proxy`.

import { ANYWHERE, serve } from "./serve.js"
import { isService, SHOP, shopService } from "./shop-service.js"
import { visit } from "./shop-visitor.js"

const [name = "", ...args] = process.argv.slice(2)
if (name === "visitor" && args[0] !== undefined) visit(new URL(args[0]))
else if (isService(name)) {
  void serve(name, () => shopService(name, process.env.http_proxy ?? process.env.HTTP_PROXY), ANYWHERE, args)
} else {
  process.stderr.write(`shop: name one of ${Object.keys(SHOP).join(", ")}, or \`visitor\` and a URL\n`)
  process.exitCode = 1
}
