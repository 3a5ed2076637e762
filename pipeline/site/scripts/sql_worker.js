// The worker of the page SQL: SQLite on a file of which only some parts are loaded.
"use strict";
(() => {
  let engine;
  let file;

  // What SQLite reads from, in place of an array with the whole file. A part that is missing reads
  // as zeros and is asked for; the query's result is then thrown away.
  class Parts {
    constructor(size, part) {
      this.length = size;
      this.part = part;
      this.loaded = new Map();
      this.missing = new Set();
    }

    // The engine takes over the file as a whole, then reads pages.
    slice() { return this; }

    subarray(from, to) {
      const bytes = new Uint8Array(to - from);
      for (let at = Math.floor(from / this.part); at * this.part < to; at += 1) {
        const part = this.loaded.get(at);
        if (!part) { this.missing.add(at); continue; }
        const begin = at * this.part;
        const found = part.subarray(Math.max(0, from - begin), to - begin);
        bytes.set(found, Math.max(0, begin - from));
      }
      return bytes;
    }
  }

  // Run a query once. The database is opened anew, because pages of zeros may be in its cache.
  function attempt(query, limit) {
    let database;
    file.missing.clear();
    try {
      database = new engine.Database(file);
      // All pages that a query reads again and again stay in memory.
      database.exec("PRAGMA query_only=ON; PRAGMA cache_size=-131072; PRAGMA temp_store=MEMORY");
      const statement = database.prepare(query);
      const columns = statement.getColumnNames();
      const rows = [];
      while (rows.length <= limit && statement.step()) rows.push(statement.get());
      return { columns, rows: rows.slice(0, limit), more: rows.length > limit };
    } catch (error) {
      return { error: error.message || String(error) };
    } finally {
      database?.close();
    }
  }

  async function respond(data) {
    if (data.wasm) {
      engine = await initSqlJs({ wasmBinary: data.wasm });
      file = new Parts(data.size, data.part);
    }
    data.parts.forEach(([at, bytes]) => file.loaded.set(at, bytes));
    const answer = attempt(data.query, data.limit);
    return file.missing.size ? { missing: [...file.missing] } : answer;
  }

  onmessage = async ({ data }) => {
    postMessage(await respond(data).catch((error) => ({ error: error.message || String(error) })));
  };
})();
