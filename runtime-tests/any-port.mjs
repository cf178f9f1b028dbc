// Loaded with `--import` before a program that listens on a fixed port, so that it runs where the port is taken.
import { Server } from 'node:net'

const { listen } = Server.prototype

Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, typeof port === 'number' ? 0 : port, ...rest)
}
