"""Commutes by town: a notebook as a script, with a cell after each `# %%`."""

# %% [markdown]
# # Commutes by town
#
# A notebook for Jupyter (with Jupytext), VS Code, or Spyder. It needs `demo.release`, which the tutorial makes:
# `commutemap demo demo.dataset --size small`, then `commutemap synthesize demo.dataset demo.release`.

# %%
import commutemap as cm

release = cm.open("demo.release")
print(release)

# %% [markdown]
# ## One town
#
# How many people come to work in Tarnwick, and how sure is that? `error` is the expected error of the release: what it
# states is typically so far from the confidential count.

# %%
answer = release.inflow_outflow("Tarnwick city", errors=True)
print(*answer.findings(), sep="\n")
share = answer.inflow / answer.employed
print(f"{answer.inflow:,} come in (±{answer.inflow.error or 0:.0f}); that is {share:.0%} of the jobs there")

# %% [markdown]
# ## Every county, in one frame
#
# A row for each county. The columns `inflow`, `outflow`, and `stay` have expected errors beside them.

# %%
counties = release.answers("inflow-outflow", each="county", errors=True).to_frame()
counties[["area", "year", "inflow", "inflow_expected_error", "outflow", "stay"]].sort_values("inflow").tail()

# %% [markdown]
# ## A map, and a file for GIS
#
# The outlines of the towns are in degrees (EPSG:4326).

# %%
homes = release.destinations("Tarnwick city", layer="town")
homes.plot("areas").save("homes.png")
homes.to_geodataframe().to_parquet("homes.geoparquet")

# %% [markdown]
# ## An area of your own
#
# Any GeoDataFrame will do, in any reference system: here the five miles around the middle of Tarnwick, in meters.

# %%
town = release.inflow_outflow("Tarnwick city").to_geodataframe().to_crs("EPSG:5070")
nearby = town.centroid.buffer(5 * 1_609.344)
release.profile(nearby).to_frame()[["label", "workers", "share"]]
