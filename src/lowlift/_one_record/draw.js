// The JavaScript of symbols.py, draws.py and drawer.py beside this file. An export writes PROGRAM
// (the release) and WORDS (what is said about bad input) above it, and the names to export below.

class InvalidInput extends Error {
  get name() {
    return "InvalidInput";
  }
}

// ---- words ----

function said(name, ...values) {
  return WORDS.texts[name].split("{}").reduce((text, part, k) => text + values[k - 1] + part);
}

function refuse(name, ...values) {
  throw new InvalidInput(said(name, ...values));
}

function isMapping(value) {
  if (typeof value !== "object" || value === null) return false;
  const parent = Object.getPrototypeOf(value);
  return parent === null || Object.getPrototypeOf(parent) === null && Object.hasOwn(parent, "hasOwnProperty");
}

function typeWord(value, use) {
  const words = { string: "a text", boolean: "a boolean", number: "a number", bigint: "a number" };
  let word = words[typeof value] ?? typeof value;
  if (value === null || value === undefined) word = "nothing";
  else if (Array.isArray(value)) word = "a list";
  else if (isMapping(value)) word = "a mapping";
  else if (word === "object") word = String(value.constructor?.name ?? "object");
  return word === WORDS.partly[use] ? word.replace("a ", "another ") : word;
}

// ---- one value as a symbol ----

// What a value of each kind is, or null: numbers that are compared exactly are BigInts, days are
// [year, month, day, ISO text].
const CONVERTERS = {
  text: (value) => (typeof value === "string" ? value : null),
  integer: (value) => {
    const found = wholeNumber(value);
    return found !== null && found >= -(1n << 127n) && found < 1n << 128n ? found : null;
  },
  real: (value) => {
    if (typeof value === "number") return Number.isNaN(value) ? null : value;
    const found = typeof value === "bigint" ? Number(value) : NaN;
    return Number.isFinite(found) ? found : null;
  },
  boolean: (value) => (typeof value === "boolean" ? value : null),
  date: (value) => (typeof value === "string" ? dayOf(value) : null),
  timestamp: (value) => {
    const form = /^(\d{4}-\d\d-\d\d)[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?$/;
    const match = typeof value === "string" ? form.exec(value) : null;
    return match === null ? null : dayOf(match[1]);
  },
  uuid: (value) => {
    const form = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;
    return typeof value === "string" && form.test(value) ? value.toLowerCase() : null;
  },
};

// A number above 2**53 may have been rounded when it was read: a BigInt says what is meant.
function wholeNumber(value) {
  if (typeof value === "bigint") return value;
  return Number.isSafeInteger(value) ? BigInt(value) : null;
}

const MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isLeap(year) {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function dayOf(text) {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (match === null) return null;
  const [year, month, day] = match.slice(1).map(Number);
  const last = month === 2 && isLeap(year) ? 29 : MONTHS[month - 1];
  return year >= 1 && day >= 1 && day <= last ? [year, month, day, text] : null;
}

// Days since 1 January of the year 1.
function daysBefore([year, month, day]) {
  const y = year - 1;
  const years = 365 * y + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  const months = MONTHS.slice(0, month - 1).reduce((sum, size) => sum + size, 0);
  return years + months + (month > 2 && isLeap(year) ? 1 : 0) + day - 1;
}

function symbolReader(column) {
  const convert = CONVERTERS[column.kind];
  const symbol = binned(column.kind, column.bins);
  return (value) => {
    if (value === null || Number.isNaN(value)) return null;
    const found = convert(value);
    if (found !== null) return symbol(found);
    return refuse("kind", column.shown, WORDS.kinds[column.kind], typeWord(value, column.kind));
  };
}

function binned(kind, bins) {
  if (bins === null) return kind === "date" ? (day) => day[3] : String;
  if (bins.labels) return between(bins.edges, bins.labels, bins.of);
  if (bins.ratio) return realWidth(...bins.ratio);
  if (bins.days) return (day) => String(Math.floor(daysBefore(day) / bins.days));
  if (bins.months) return ([year, month]) => String(Math.floor((12 * year + month - 1) / bins.months));
  const width = BigInt(bins.width);
  return (value) => String((value - (((value % width) + width) % width)) / width);
}

function between(edges, labels, kind) {
  const read = { integer: BigInt, real: Number, date: (text) => text }[kind];
  const ends = edges.map(read);
  return (value) => labels[after(ends, kind === "date" ? value[3] : read(value))];
}

// How many of these ascending ends are at most the value.
function after(ends, value) {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function realWidth(by, times) {
  const far = 2 ** 53;
  return (value) => {
    const ratio = (Number(value) * times) / by; // doubles, in this order
    if (ratio < -far) return "<";
    return ratio >= far ? ">" : String(Math.floor(ratio));
  };
}

// ---- SHA-256 (FIPS 180-4) and HMAC (FIPS 198-1), at once: WebCrypto answers later, and not on every page ----

const ROUNDS = Int32Array.of(
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
);

function turned(word, bits) {
  return (word >>> bits) | (word << (32 - bits));
}

// The digest of some bytes, as 32 bytes.
function sha256(octets) {
  const padded = new DataView(new ArrayBuffer((((octets.length + 8) >> 6) + 1) << 6));
  new Uint8Array(padded.buffer).set(octets);
  padded.setUint8(octets.length, 0x80);
  padded.setUint32(padded.byteLength - 8, Math.floor(octets.length / 2 ** 29));
  padded.setUint32(padded.byteLength - 4, (octets.length * 8) % 2 ** 32);
  const state = Int32Array.of(
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
  );
  for (let start = 0; start < padded.byteLength; start += 64) mixed(state, padded, start);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, k) => digest.setInt32(4 * k, word));
  return new Uint8Array(digest.buffer);
}

const schedule = new Int32Array(64);

function mixed(state, block, start) {
  const w = schedule;
  for (let k = 0; k < 16; k++) w[k] = block.getInt32(start + 4 * k);
  for (let k = 16; k < 64; k++) {
    const u = w[k - 15];
    const v = w[k - 2];
    const low = turned(u, 7) ^ turned(u, 18) ^ (u >>> 3);
    const high = turned(v, 17) ^ turned(v, 19) ^ (v >>> 10);
    w[k] = (w[k - 16] + low + w[k - 7] + high) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let k = 0; k < 64; k++) {
    const ends = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const starts = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const one = (h + ends + ((e & f) ^ (~e & g)) + ROUNDS[k] + w[k]) | 0;
    const two = (starts + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, k) => (state[k] += word));
}

function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((place, part) => (whole.set(part, place), place + part.length), 0);
  return whole;
}

// The HMAC of some bytes by a key of at most 64 bytes.
function hmac(key, octets) {
  const padded = new Uint8Array(64);
  padded.set(key);
  const inner = sha256(joined(padded.map((octet) => octet ^ 0x36), octets));
  return sha256(joined(padded.map((octet) => octet ^ 0x5c), inner));
}

// ---- uniform numbers and slots ----

const UTF8 = new TextEncoder();

// The part of a subkey that enters a digest, as text; made anew only when the key changes.
function subkeyTexts(scope) {
  let [last, text] = [new Uint8Array(0), ""];
  return (key) => {
    if (last.length !== key.length || last.some((octet, k) => octet !== key[k])) {
      const subkey = hmac(key, UTF8.encode(scope)).subarray(0, 20);
      text = Array.from(subkey, (octet) => octet.toString(16).padStart(2, "0")).join("");
      last = Uint8Array.from(key);
    }
    return text;
  };
}

// The leading 60 bits of the digest of subkey, length of the id in UTF-8, a colon and the id.
function uniformOf(subkeyText, text) {
  const octets = UTF8.encode(text);
  const head = UTF8.encode(`${subkeyText}${octets.length}:`);
  const digest = new DataView(sha256(joined(head, octets)).buffer);
  return digest.getBigUint64(0) >> 4n;
}

function idText(id) {
  const whole = wholeNumber(id);
  let text = typeof id === "string" ? id : null;
  if (whole !== null && whole < 1n << 4096n && whole > -(1n << 4096n)) text = String(whole);
  if (text === null) refuse("id", typeWord(id, "id"));
  if (/\p{Surrogate}/u.test(text)) refuse("surrogate");
  return text;
}

// Thresholds, first and other outputs of a row's slots (Walker 1977, Vose 1991).
function poured(outputs, weights, slots, capacity) {
  const padding = Array(slots - outputs.length);
  const names = [...outputs, ...padding.fill(outputs[0])];
  const left = names.map((_, k) => (k < weights.length ? BigInt(weights[k]) * BigInt(slots) : 0n));
  const thresholds = Array(slots).fill(capacity);
  const others = [...names];
  const small = [...left.keys()].filter((slot) => left[slot] < capacity);
  const large = [...left.keys()].filter((slot) => left[slot] > capacity);
  while (small.length) {
    const [slot, donor] = [small.pop(), large[large.length - 1]];
    [thresholds[slot], others[slot]] = [left[slot], names[donor]];
    left[donor] -= capacity - left[slot];
    if (left[donor] <= capacity) {
      large.pop();
      if (left[donor] < capacity) small.push(donor);
    }
  }
  return { thresholds, firsts: names, others };
}

// ---- records ----

function kept(make) {
  const found = new Map();
  return (row) => found.get(row) ?? (found.set(row, make(row)), found.get(row));
}

function publishedValue(text, kind) {
  if (text === null) return null;
  if (kind === "boolean") return text === "true";
  if (kind !== "integer") return text; // days and UUIDs are texts
  return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
}

function drawer(program) {
  const { columns, values, symbols, rows, outputs } = program;
  const size = columns.length;
  const names = new Set(columns.map((column) => column.name));
  const readers = columns.map(symbolReader);
  const keyOf = (texts) => JSON.stringify(texts); // no two lists of texts have the same
  const numbers = new Map(
    program.row_of.map((_, x) => [keyOf(values.map((texts, k) => texts[symbols[x * size + k]])), x]),
  );
  const subkeyText = subkeyTexts(program.scope);
  const published = outputs.map((one) => {
    const typed = one.texts.map((text) => publishedValue(text, one.kind));
    return one.places.map((place) => typed[place]);
  });

  const sums = kept((row) => {
    let sum = 0;
    return rows[row].filter((_, k) => k % 2).map((weight) => (sum += weight));
  });
  const slots = kept((row) => {
    const [names, weights] = [0, 1].map((side) => rows[row].filter((_, k) => k % 2 === side));
    return poured(names, weights, 2 ** program.slot_bits, 1n << BigInt(program.bits));
  });
  const pieces = kept((row) => {
    const [starts, drawn] = [0, 1].map((side) => program.pieces[row].filter((_, k) => k % 2 === side));
    return { starts: starts.map((start) => BigInt(`0x${start}`)), drawn };
  });

  // The texts of a record's symbol; null where the record is left out.
  function textsOf(record) {
    const shown = columns.map((column) => column.shown).join(", ");
    if (!isMapping(record)) refuse("mapping", shown, typeWord(record));
    const has = ({ name }) => Object.hasOwn(record, name) && record[name] !== undefined;
    const lacking = columns.filter((column) => !has(column)).map((column) => column.shown);
    if (lacking.length) refuse("lacks", shown, lacking.join(", "));
    const more = Object.keys(record).filter((name) => !names.has(name)).length;
    if (more) refuse("more", shown, more);
    const texts = columns.map(({ name }, k) => readers[k](record[name]));
    const gap = texts.indexOf(null);
    if (program.missing === "value" || gap < 0) return texts;
    return program.missing === "error" ? refuse("missing", columns[gap].shown) : null;
  }

  function fresh(x) {
    if (program.no_fresh) throw new InvalidInput(program.no_fresh);
    const row = program.row_of[x];
    if (rows[row].length === 2) return rows[row][0];
    // The weights add up to 2**bits, at most 2**48: these bits are uniform below it.
    const [high, low] = globalThis.crypto.getRandomValues(new Uint32Array(2));
    const uniform = ((high % 2 ** 16) * 2 ** 32 + low) % 2 ** program.bits;
    return rows[row][2 * after(sums(row), uniform)];
  }

  function keyed(x, id, key) {
    if (id === null || key === null) refuse("pair");
    const isOctets = Object.prototype.toString.call(key) === "[object Uint8Array]";
    if (!isOctets || key.length !== 32) {
      const fault = said("key", isOctets ? key.length : typeWord(key));
      throw new InvalidInput(`${fault} ${said("new_key")}`);
    }
    const uniform = uniformOf(subkeyText(key), idText(id));
    if (program.pieces.length) {
      const { starts, drawn } = pieces(program.pieces_of[x]);
      return drawn[after(starts, uniform) - 1];
    }
    if (program.no_keyed) throw new InvalidInput(program.no_keyed);
    const [slotBits, bits] = [BigInt(program.slot_bits), BigInt(program.bits)];
    const slot = Number(uniform >> (60n - slotBits));
    const place = (uniform >> (60n - slotBits - bits)) & ((1n << bits) - 1n);
    const { thresholds, firsts, others } = slots(program.row_of[x]);
    return place < thresholds[slot] ? firsts[slot] : others[slot];
  }

  return function draw(record, options = {}) {
    const { id = null, key = null, unseen = "error", ...more } = options ?? {};
    // Else an id that is given without its name would be drawn anew.
    if (!isMapping(options) || Object.keys(more).length) throw new InvalidInput("options must be id, key and unseen; got others.");
    if (unseen !== "error" && unseen !== "suppress") refuse("choice", typeWord(unseen, "unseen"));
    const texts = textsOf(record);
    if (texts === null) return null;
    const x = numbers.get(keyOf(texts));
    if (x === undefined) return unseen === "suppress" ? null : refuse("unseen");
    const y = id === null && key === null ? fresh(x) : keyed(x, id, key);
    return Object.fromEntries(outputs.map((one, k) => [one.name, published[k][y]]));
  };
}

const draw = drawer(PROGRAM);
