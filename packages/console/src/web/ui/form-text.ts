// SPDX-License-Identifier: Apache-2.0
/** The text that the user entered in a field of a form. */
export function formText(form: FormData, name: string): string {
  const value = form.get(name)
  return typeof value === "string" ? value.trim() : ""
}
