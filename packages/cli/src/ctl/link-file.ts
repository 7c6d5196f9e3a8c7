// SPDX-License-Identifier: Apache-2.0
// An HTML page that redirects a browser to a link with a secret. Other users see the arguments of every process, so the
// browser gets the name of a file that only its owner can read.

import { join } from "node:path"
import { writePrivateFile } from "@merlon/xds/runtime"

const NAME = "dashboard.html"

/** The next call overwrites the file. Returns its path. */
export function linkFile(folder: string, address: string): string {
  const url = address.replaceAll("&", "&amp;").replaceAll('"', "&quot;")
  writePrivateFile(folder, NAME, `<!doctype html><meta http-equiv="refresh" content="0;url=${url}">\n`)
  return join(folder, NAME)
}
