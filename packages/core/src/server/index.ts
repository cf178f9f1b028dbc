export type {
  Annotations,
  Cache,
  Complete,
  Icon,
  McpServerOptions,
  Middleware,
  PromptConfig,
  PromptReturn,
  Registration,
  ResourceConfig,
  ResourceReturn,
  Schema,
  TaskConfig,
  ToolConfig,
  ToolReturn,
  Validator,
} from './config.ts'
export { McpServer } from './mcp-server.ts'
export { ToolError } from './tools.ts'
