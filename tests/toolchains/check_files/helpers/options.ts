export const options = { separator: "-" };
