// A classic script, for Node and pages: calls with tagged values in, tagged results out.
globalThis.given = function given(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(given);
  const tags = {
    bigint: (text) => BigInt(text),
    number: (text) => Number(text),
    undefined: () => undefined,
    octets: (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16)),
    date: (text) => new Date(text),
  };
  if (Object.hasOwn(value, "$")) return tags[value.$](value.text);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, given(one)]));
};

globalThis.shown = function shown(value) {
  if (typeof value === "bigint") return { $: "bigint", text: String(value) };
  return value;
};

globalThis.answers = function answers(module, calls) {
  return calls.map(([record, options]) => {
    try {
      const drawn = module.draw(given(record), given(options));
      if (drawn === null) return null;
      return Object.fromEntries(Object.entries(drawn).map(([name, one]) => [name, shown(one)]));
    } catch (error) {
      if (!(error instanceof module.InvalidInput)) throw error;
      return { $: "error", text: error.message };
    }
  });
};

// What is drawn for the people of these numbers, as text: a line each; see runtimes.py.
globalThis.many = function many(module, start, count, key) {
  const octets = given({ $: "octets", text: key });
  return Array.from({ length: count }, (_, k) => {
    const record = { age: (start + k) % 90, region: "news"[(start + k) % 4] };
    return JSON.stringify(module.draw(record, { id: start + k, key: octets }));
  }).join("\n");
};
