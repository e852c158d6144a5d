// A fork of the reference memory server, with the same tools and the same file.
export { dump, edit, search, write } from "./mcp_memory.mjs";
