// SPDX-License-Identifier: Apache-2.0
// The part of fengari, a Lua interpreter, that a test uses.

declare module "fengari" {
  interface State {
    readonly l_G: object
  }
  const fengari: {
    readonly lua: {
      lua_tojsstring(state: State, index: number): string
    }
    readonly lauxlib: {
      luaL_newstate(): State
      /** Returns 0 on success. */
      luaL_dostring(state: State, code: Uint8Array): number
    }
    readonly lualib: { luaL_openlibs(state: State): void }
    readonly to_luastring: (text: string) => Uint8Array
  }
  export default fengari
}
