// SPDX-License-Identifier: Apache-2.0
// Types of the one function of postject that we call; the package has none.

declare module "postject" {
  export function inject(
    file: string,
    name: string,
    content: Buffer,
    options: { readonly sentinelFuse: string },
  ): Promise<void>
}
