// Functions the controls call by name. The server has searched already: keep all it found.
window.dashMantineFunctions = window.dashMantineFunctions || {};
window.dashMantineFunctions.keepAll = function (input) {
  return input.options;
};
